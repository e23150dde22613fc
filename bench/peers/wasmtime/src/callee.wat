;; The callee of bench/peers/work.h, in WebAssembly.
(module
  (memory (export "memory") 17)

  ;; The byte itself.
  (func (export "byte") (param $value i32) (result i64)
    (i64.extend_i32_u (local.get $value)))

  ;; The sum of the 64-bit words in $size bytes from $at; bytes that are left over count singly.
  (func (export "total") (param $at i32) (param $size i32) (result i64)
    (local $sum i64)
    (local $words_end i32)
    (local $end i32)
    (local.set $words_end (i32.add (local.get $at) (i32.and (local.get $size) (i32.const -8))))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (block $no_words
      (br_if $no_words (i32.eq (local.get $at) (local.get $words_end)))
      (loop $words
        (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $words (i32.ne (local.get $at) (local.get $words_end)))))
    (block $no_bytes
      (br_if $no_bytes (i32.eq (local.get $at) (local.get $end)))
      (loop $bytes
        (local.set $sum (i64.add (local.get $sum) (i64.load8_u (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $bytes (i32.ne (local.get $at) (local.get $end)))))
    (local.get $sum)))
