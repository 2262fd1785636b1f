//! Whole agents between API servers in memory: watches that are slow or lie, with the time standing still while they
//! work. What plans decide is shown beside them; this is about when they are asked, and with what before their eyes.

mod agent;
mod brake;
mod feed;
mod ignorance;
mod world;
