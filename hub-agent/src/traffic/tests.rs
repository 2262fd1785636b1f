mod crashes;
mod drains;
mod fleet;
mod members;
mod silence;
mod world;
