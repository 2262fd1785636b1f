//! The cost of a change grows no faster than its input. Allocations are counted here, which every machine can; work that
//! allocates nothing, such as comparisons, is seen by `make instructions` alone, which needs valgrind.

use std::cell::Cell;

use crate::fleet::{Fleet, Shape, Who};

/// Changes that are measured.
const CHANGES: usize = 3;
/// How much more twice the input may cost, in percent.
const LIMIT: u64 = 250;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

fn metered(work: &mut dyn FnMut()) {
    let used = allocation_counter::measure(&mut *work);
    BYTES.set(BYTES.get() + used.bytes_total);
}

/// Bytes that the changes of a Service of this shape allocate in one agent.
fn bytes(who: Who, shape: Shape) -> u64 {
    let mut fleet = Fleet::exchanged(shape);
    fleet.take_writes();
    BYTES.set(0);
    fleet.count(who, metered);
    for turn in 0..CHANGES {
        fleet.change(0, turn);
        fleet.settle();
        assert_eq!(fleet.take_writes(), 1 + 2 * shape.importers, "{shape:?}");
    }
    BYTES.get()
}

fn assert_linear(who: Who, shape: impl Fn(usize) -> Shape, size: usize) {
    let (once, twice) = (bytes(who, shape(size)), bytes(who, shape(2 * size)));
    assert!(once > 0, "nothing was measured");
    assert!(100 * twice <= LIMIT * once, "{who:?}, {:?}: {once} and {twice} bytes", shape(size));
}

#[test]
fn twice_the_endpoints_cost_two_and_a_half_times_as_much_at_most() {
    for who in [Who::Exporter, Who::Hub, Who::Importer] {
        assert_linear(who, |endpoints| Shape { endpoints, ..Shape::default() }, 100);
    }
}

#[test]
fn twice_the_ports_cost_two_and_a_half_times_as_much_at_most() {
    for who in [Who::Exporter, Who::Hub, Who::Importer] {
        assert_linear(who, |ports| Shape { ports, ..Shape::default() }, 20);
    }
}

#[test]
fn twice_the_importers_cost_two_and_a_half_times_as_much_at_most() {
    assert_linear(Who::Hub, |importers| Shape { importers, ..Shape::default() }, 10);
}

#[test]
fn twice_the_exporters_cost_two_and_a_half_times_as_much_at_most() {
    for who in [Who::Hub, Who::Importer] {
        assert_linear(who, |exporters| Shape { exporters, ..Shape::default() }, 10);
    }
}
