//! Functions within functions, the innermost of which reads where there is nothing.

mod shop {
    pub struct Sum<T> {
        pub total: T,
    }

    impl Sum<i64> {
        #[inline(always)]
        pub fn add(&mut self, price: *const i64) {
            // SAFETY: there is none: the fault is what the test is about.
            self.total += unsafe { price.read_volatile() }; // ADD
        }
    }

    #[inline(never)]
    pub fn pay(price: *const i64) -> i64 {
        let twice = |from: i64| {
            let mut sum = Sum { total: from };
            sum.add(price); // CLOSURE
            sum.total
        };
        twice(2)
    }
}

fn main() {
    let nowhere = std::hint::black_box(8 as *const i64);
    println!("{}", shop::pay(nowhere));
}
