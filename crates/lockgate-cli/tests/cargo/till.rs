mod shop {
    pub struct Item {
        pub price: i64,
        pub count: i64,
    }

    pub struct Sum<T> {
        pub total: T,
    }

    impl Sum<i64> {
        pub fn add(&mut self, item: &Item) {
            self.total += item.price * item.count; // SUM
        }
    }

    pub fn pay(items: &[Item]) -> i64 {
        let mut sum = Sum { total: 0 };
        for item in items {
            sum.add(item); // ADD
        }
        assert!(sum.total < 100, "no money: {}", sum.total); // PANIC
        sum.total
    }
}

fn main() {
    let items = [shop::Item { price: 60, count: 1 }, shop::Item { price: 20, count: 3 }];
    let first = shop::pay(&items[..1]); // PAY
    let both = std::panic::catch_unwind(|| shop::pay(&items)); // TRY
    println!("{first} {}", both.is_err()); // CAUGHT
}
