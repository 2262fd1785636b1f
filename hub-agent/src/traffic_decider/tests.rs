mod history;
