use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const QUANTUM: u32 = 10;

/// What happens to a queue.
#[derive(Clone, Debug)]
enum Act {
    /// An item arrives on this account.
    Push(u8),
    /// An item is taken, at this cost on top.
    Pop(u64),
}

fn acts(accounts: u8, dearest: u64) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![(0..accounts).prop_map(Act::Push), (0..=dearest).prop_map(Act::Pop),];
    vec(act, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Nothing is lost, doubled or invented, the items of an account keep their order, and whatever waits is served.
    #[test]
    fn every_item_is_served_once_in_the_order_of_its_account(acts in acts(5, 500)) {
        let mut queue = FairQueue::new(QUANTUM);
        let mut waiting: BTreeMap<u8, VecDeque<usize>> = BTreeMap::new();
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Push(account) => {
                    queue.push(&account, number);
                    waiting.entry(account).or_default().push_back(number);
                }
                Act::Pop(cost) => {
                    let due = waiting.values().map(VecDeque::len).sum::<usize>();
                    prop_assert_eq!(queue.len(), due);
                    let Some((account, item)) = queue.pop() else {
                        prop_assert_eq!(due, 0);
                        continue;
                    };
                    prop_assert_eq!(waiting.get_mut(&account).unwrap().pop_front(), Some(item));
                    queue.charge(&account, cost);
                }
            }
        }
        let left = std::iter::from_fn(|| queue.pop()).count();
        prop_assert_eq!(left, waiting.values().map(VecDeque::len).sum::<usize>());
    }

    /// While several accounts have items waiting, what they are charged differs by no more than a quantum and the cost of
    /// what was taken last, whatever the costs.
    #[test]
    fn accounts_that_wait_are_charged_alike(
        costs in vec(vec(0..60_u64, 40), 2..6),
        rounds in 20..200_usize,
    ) {
        let mut queue = FairQueue::new(QUANTUM);
        let accounts = costs.len();
        let mut charged = vec![0_u64; accounts];
        let mut taken = vec![0_usize; accounts];
        for account in 0..accounts {
            for _ in 0..1_000 {
                queue.push(&account, ());
            }
        }
        for _ in 0..rounds {
            let (account, ()) = queue.pop().unwrap();
            let cost = costs[account][taken[account] % 40];
            taken[account] += 1;
            charged[account] += cost + 1;
            queue.charge(&account, cost);
        }
        let (least, most) = (charged.iter().min().unwrap(), charged.iter().max().unwrap());
        prop_assert!(most - least <= 2 * (u64::from(QUANTUM) + 61), "{charged:?}");
    }

    /// An item of an account that asks for nothing else is served after at most a quantum and one more item of each other
    /// account, however many items those have.
    #[test]
    fn a_quiet_account_waits_for_one_turn_of_each_other(
        crowds in vec(1..300_usize, 1..8),
        before in 0..500_usize,
    ) {
        let mut queue = FairQueue::new(QUANTUM);
        for (account, crowd) in crowds.iter().enumerate() {
            for _ in 0..*crowd {
                queue.push(&account, ());
            }
        }
        for _ in 0..before {
            queue.pop();
        }
        let quiet = crowds.len();
        queue.push(&quiet, ());
        let turns = std::iter::from_fn(|| queue.pop()).position(|(account, ())| account == quiet);
        let quantum = usize::try_from(QUANTUM).unwrap();
        prop_assert!(turns.unwrap() <= crowds.len() * (quantum + 1), "{turns:?}");
    }

    /// The work for one item does not depend on how deep others are in debt.
    #[test]
    fn debts_are_limited(cost in 0..u64::MAX) {
        let mut queue = FairQueue::new(QUANTUM);
        queue.push(&"deep", 1);
        queue.push(&"deep", 2);
        queue.pop();
        queue.charge(&"deep", cost);
        let debt = queue.lines["deep"].credit;
        prop_assert!(debt >= -MOST_DEBT * i64::from(QUANTUM));
        prop_assert_eq!(queue.pop(), Some(("deep", 2)));
    }
}

#[test]
fn an_account_in_debt_is_passed_over_until_it_has_paid() {
    let mut queue = FairQueue::new(1);
    for number in 0..5 {
        queue.push(&"dear", number);
        queue.push(&"cheap", number);
    }
    let mut order = Vec::new();
    while let Some((account, _)) = queue.pop() {
        queue.charge(&account, if account == "dear" { 2 } else { 0 });
        order.push(account);
    }
    assert_eq!(order[..6], ["dear", "cheap", "cheap", "cheap", "dear", "cheap"]);
}

#[test]
fn a_debt_outlives_an_empty_line_but_not_an_empty_queue() {
    let mut queue = FairQueue::new(1);
    queue.push(&"dear", 0);
    queue.push(&"cheap", 0);
    queue.push(&"cheap", 1);
    queue.push(&"cheap", 2);
    queue.pop();
    queue.charge(&"dear", 10);
    queue.push(&"dear", 1);
    let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(account, _)| account).collect();
    assert_eq!(order, ["cheap", "cheap", "cheap", "dear"]);
    assert!(queue.lines.is_empty(), "an account that asks for nothing costs nothing");
}

#[test]
fn accounts_that_may_have_nothing_are_passed_over() {
    let mut queue = FairQueue::new(1);
    for (account, item) in [("full", 1), ("full", 2), ("free", 3)] {
        queue.push(&account, item);
    }
    let free = |account: &&str| *account == "free";
    assert_eq!(queue.pop_of(free), Some(("free", 3)));
    queue.charge(&"full", 10);
    assert_eq!((queue.pop_of(free), queue.len()), (None, 2));
    assert_eq!(queue.pop(), Some(("full", 1)));
    assert_eq!(queue.pop(), Some(("full", 2)));
}
