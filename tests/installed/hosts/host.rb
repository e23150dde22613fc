# A Ruby program that brings the library by Fiddle, Ruby's own way to call C; Ruby has handlers of faults, and a thread of its own for timers.
require "fiddle"

Signal.trap("USR1") {}
Signal.trap("TERM") {}
plugin = Fiddle.dlopen(ARGV.shift)
call = Fiddle::Function.new(plugin["host_main"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
words = ["host"] + ARGV
texts = words.map { |word| Fiddle::Pointer[word.b + "\0"] }
collector = Thread.new { loop { GC.start; Thread.pass } }
status = call.call(words.size, texts.map(&:to_i).push(0).pack("J*"))
collector.kill
# Ruby's own exceptions and threads go on.
caught = 0
1000.times { begin; nil.length; rescue NoMethodError; caught += 1; end }
abort "exceptions of the program's own: #{caught}" unless caught == 1000 && Thread.new { 7 }.value == 7
exit! status
