// Threads, locks, tasks, and objects that belong to threads.
#include <atomic>
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

struct Noisy {
    std::string name;
    explicit Noisy(const char *given) : name(given) {}
    ~Noisy() { std::cout << "end " << name << '\n'; }
};
thread_local Noisy own("own");
thread_local int number = 5;
static Noisy of_program("of the program");

static void locks() {
    using namespace std::chrono_literals;
    std::timed_mutex timed;
    std::recursive_mutex again;
    std::shared_timed_mutex shared;
    std::scoped_lock both(timed, again);
    std::lock_guard once_more(again);
    std::thread([&] { std::cout << timed.try_lock_for(1ms) << again.try_lock() << '\n'; }).join();
    { std::shared_lock one(shared), two(shared); std::cout << shared.try_lock_until(std::chrono::steady_clock::now() + 1ms) << '\n'; }
    std::condition_variable condition;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::cout << (condition.wait_for(lock, 1ms) == std::cv_status::timeout) << '\n';
    std::counting_semaphore<4> semaphore(1);
    semaphore.acquire();
    std::cout << semaphore.try_acquire_for(1ms) << '\n';
}

int main() {
    std::cout << own.name << number << '\n';
    std::thread([] { own.name = "of a thread"; number++; }).join();
    std::cout << own.name << number << '\n';
    std::atomic<int> sum{0};
    std::mutex mutex;
    std::condition_variable condition;
    bool go = false;
    std::vector<int> counts(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            std::unique_lock lock(mutex);
            condition.wait(lock, [&] { return go; });
            lock.unlock();
            for (int round = 0; round < 1000; round++) {
                sum++;
                std::lock_guard guard(mutex);
                counts[i]++;
            }
        });
    { std::lock_guard guard(mutex); go = true; }
    condition.notify_all();
    for (auto &thread : threads) thread.join();
    std::cout << sum << ' ' << counts[0] + counts[3] << '\n';
    auto product = std::async(std::launch::async, [](int a, int b) { return a * b; }, 6, 7);
    auto late = std::async(std::launch::deferred, [] { return std::string("deferred"); });
    std::promise<std::string> promise;
    auto kept = promise.get_future();
    std::thread keeper([&] { promise.set_value("promised"); });
    std::cout << product.get() << ' ' << late.get() << ' ' << kept.get() << '\n';
    keeper.join();
    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    task(1);
    std::cout << task.get_future().get() << '\n';
    std::once_flag once;
    for (int i = 0; i < 3; i++) std::call_once(once, [] { std::cout << "once\n"; });
#ifdef __cpp_lib_jthread
    std::latch latch(2);
    std::jthread stopped([&](std::stop_token token) {
        latch.count_down();
        while (!token.stop_requested()) std::this_thread::yield();
    });
    latch.arrive_and_wait();
    stopped.request_stop();
    stopped.join();
#endif
    std::atomic<int> waited{0};
    std::thread waker([&] { waited = 1; waited.notify_one(); });
    waited.wait(0);
    waker.join();
    auto shared = std::make_shared<int>(0);
    {
        std::vector<std::thread> copying;
        for (int i = 0; i < 3; i++)
            copying.emplace_back([shared] { for (int round = 0; round < 10000; round++) std::shared_ptr<int> copy(shared); });
        for (auto &thread : copying) thread.join();
    }
    std::cout << shared.use_count() << '\n';
#ifdef __cpp_lib_atomic_shared_ptr
    std::atomic<std::shared_ptr<int>> swapped(shared);
    std::cout << (swapped.load() == shared) << '\n';
#endif
    locks();
}
