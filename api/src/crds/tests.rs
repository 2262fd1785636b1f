use super::*;

#[test]
fn dump() {
    for crd in networking().into_iter().chain(membership()) {
        println!("{}", serde_json::to_string_pretty(&crd).unwrap());
    }
}
