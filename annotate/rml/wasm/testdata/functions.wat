;; Functions for the tests of this package, some of which misbehave:
;;
;;   wat2wasm functions.wat -o functions.wasm
(module
  (import "rmlfunction1" "fail" (func $fail (param i32 i32)))
  (import "rmlfunction1" "function" (func $function (param i32 i32)))
  (import "rmlfunction1" "parameter" (func $parameter (param i32 i32 i32)))
  (import "rmlfunction1" "name" (func $name (param i32 i32)))
  (import "rmlfunction1" "output" (func $output (param i32 i32)))
  (import "rmlfunction1" "datatype" (func $datatype (param i32 i32)))
  (import "rmlfunction1" "values" (func $values (param i32) (result i32)))
  (import "rmlfunction1" "value" (func $value (param i32 i32 i32 i32) (result i32)))
  (import "rmlfunction1" "output_asked" (func $output_asked (result i32)))
  (import "rmlfunction1" "result" (func $result (param i32 i32)))
  (memory (export "memory") 2)
  (global $calls (mut i32) (i32.const 0)) ;; of count
  (data (i32.const 1024) "http://example.com/fn#upper")
  (data (i32.const 1051) "http://example.com/fn#textParam")
  (data (i32.const 1082) "http://example.com/fn#text")
  (data (i32.const 1108) "http://example.com/fn#textOut")
  (data (i32.const 1137) "http://example.com/fn#upperOut")
  (data (i32.const 1167) "http://example.com/fn#raw")
  (data (i32.const 1192) "http://example.com/fn#loop")
  (data (i32.const 1218) "http://example.com/fn#trap")
  (data (i32.const 1244) "http://example.com/fn#grow")
  (data (i32.const 1270) "http://example.com/fn#refuse")
  (data (i32.const 1298) "http://example.com/fn#answer")
  (data (i32.const 1326) "http://example.com/fn#many")
  (data (i32.const 1352) "http://example.com/fn#count")
  (data (i32.const 1379) "http://www.w3.org/2001/XMLSchema#integer")
  (data (i32.const 1419) "http://example.com/fn#values")
  (data (i32.const 1447) "http://example.com/fn#listParam")
  (data (i32.const 1478) "http://example.com/fn#list")
  (data (i32.const 1504) "http://example.com/fn#restParam")
  (data (i32.const 1535) "http://example.com/fn#rest")
  (data (i32.const 1561) "http://example.com/fn#outside")
  (data (i32.const 1590) "http://example.com/fn#late")
  (data (i32.const 1616) "it does not like the argument")

  (func (export "rml_describe") (result i32)
    (call $function (i32.const 1024) (i32.const 27)) ;; http://example.com/fn#upper
    (call $parameter (i32.const 1051) (i32.const 31) (i32.const 0)) ;; http://example.com/fn#textParam
    (call $name (i32.const 1082) (i32.const 26)) ;; http://example.com/fn#text
    (call $output (i32.const 1108) (i32.const 29)) ;; http://example.com/fn#textOut
    (call $output (i32.const 1137) (i32.const 30)) ;; http://example.com/fn#upperOut
    (call $function (i32.const 1167) (i32.const 25)) ;; http://example.com/fn#raw
    (call $parameter (i32.const 1051) (i32.const 31) (i32.const 0)) ;; http://example.com/fn#textParam
    (call $name (i32.const 1082) (i32.const 26)) ;; http://example.com/fn#text
    (call $function (i32.const 1192) (i32.const 26)) ;; http://example.com/fn#loop
    (call $function (i32.const 1218) (i32.const 26)) ;; http://example.com/fn#trap
    (call $function (i32.const 1244) (i32.const 26)) ;; http://example.com/fn#grow
    (call $function (i32.const 1270) (i32.const 28)) ;; http://example.com/fn#refuse
    (call $function (i32.const 1298) (i32.const 28)) ;; http://example.com/fn#answer
    (call $function (i32.const 1326) (i32.const 26)) ;; http://example.com/fn#many
    (call $function (i32.const 1352) (i32.const 27)) ;; http://example.com/fn#count
    (call $datatype (i32.const 1379) (i32.const 40)) ;; http://www.w3.org/2001/XMLSchema#integer
    (call $function (i32.const 1419) (i32.const 28)) ;; http://example.com/fn#values
    (call $parameter (i32.const 1447) (i32.const 31) (i32.const 1)) ;; http://example.com/fn#listParam
    (call $name (i32.const 1478) (i32.const 26)) ;; http://example.com/fn#list
    (call $parameter (i32.const 1504) (i32.const 31) (i32.const 2)) ;; http://example.com/fn#restParam
    (call $name (i32.const 1535) (i32.const 26)) ;; http://example.com/fn#rest
    (call $datatype (i32.const 1379) (i32.const 40)) ;; http://www.w3.org/2001/XMLSchema#integer
    (call $function (i32.const 1561) (i32.const 29)) ;; http://example.com/fn#outside
    (call $function (i32.const 1590) (i32.const 26)) ;; http://example.com/fn#late
    (i32.const 0))

  ;; text copies the first value of the first parameter to 65536, cut to 65536 bytes.
  (func $text (result i32)
    (local $n i32)
    (local.set $n (call $value (i32.const 0) (i32.const 0) (i32.const 65536) (i32.const 65536)))
    (if (i32.gt_u (local.get $n) (i32.const 65536)) (then (local.set $n (i32.const 65536))))
    (local.get $n))

  ;; upper gives the text in capital letters of ASCII, and in brackets if its second output is asked for.
  (func $upper
    (local $n i32) (local $i i32) (local $c i32)
    (local.set $n (call $text))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (local.set $c (i32.load8_u offset=65536 (local.get $i)))
        (if (i32.and (i32.ge_u (local.get $c) (i32.const 97)) (i32.le_u (local.get $c) (i32.const 122)))
          (then (i32.store8 offset=65536 (local.get $i) (i32.sub (local.get $c) (i32.const 32)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (if (i32.eq (call $output_asked) (i32.const 1))
      (then (i32.store8 (i32.const 65535) (i32.const 91))
            (i32.store8 offset=65536 (local.get $n) (i32.const 93))
            (call $result (i32.const 65535) (i32.add (local.get $n) (i32.const 2))))
      (else (call $result (i32.const 65536) (local.get $n)))))

  ;; raw takes its text, in hexadecimal digits of 8 bytes, as place and length of the result.
  (func $digit (param $at i32) (result i32)
    (local $c i32)
    (local.set $c (i32.load8_u offset=65536 (local.get $at)))
    (select (i32.sub (local.get $c) (i32.const 87)) (i32.sub (local.get $c) (i32.const 48))
      (i32.ge_u (local.get $c) (i32.const 97))))
  (func $number (param $at i32) (result i32)
    (local $i i32) (local $n i32)
    (loop $next
      (local.set $n (i32.or (i32.shl (local.get $n) (i32.const 4)) (call $digit (i32.add (local.get $at) (local.get $i)))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
    (local.get $n))
  (func $raw
    (drop (call $text))
    (call $result (call $number (i32.const 0)) (call $number (i32.const 8))))

  (func $loop (loop $again (br $again)))
  (func $trap unreachable)
  ;; grow makes the memory grow until it cannot.
  (func $grow
    (loop $again
      (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable)
  (func $many (loop $again (call $result (i32.const 1024) (i32.const 100)) (br $again)))
  ;; digit0 gives a number of one digit.
  (func $digit0 (param $n i32)
    (i32.store8 (i32.const 0) (i32.add (local.get $n) (i32.const 48)))
    (call $result (i32.const 0) (i32.const 1)))
  ;; count gives how often this instance was called for it, which no function should.
  (func $count
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (call $digit0 (global.get $calls)))
  (func $both
    (call $digit0 (call $values (i32.const 0)))
    (call $digit0 (call $values (i32.const 1))))
  (func $outside (drop (call $value (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
  (func $late (call $function (i32.const 1024) (i32.const 10)))

  (func (export "rml_apply") (param $f i32) (result i32)
    (if (i32.eq (local.get $f) (i32.const 5))
      (then (call $fail (i32.const 1616) (i32.const 29)) (return (i32.const 1))))
    (if (i32.eq (local.get $f) (i32.const 6)) (then (return (i32.const 7))))
    (block $late_ (block $outside_ (block $both_ (block $count_ (block $many_ (block $none_ (block $grow_ (block $trap_
      (block $loop_ (block $raw_ (block $upper_
        (br_table $upper_ $raw_ $loop_ $trap_ $grow_ $none_ $none_ $many_ $count_ $both_ $outside_ $late_ (local.get $f)))
        (call $upper) (return (i32.const 0)))
        (call $raw) (return (i32.const 0)))
        (call $loop) (return (i32.const 0)))
        (call $trap) (return (i32.const 0)))
        (call $grow) (return (i32.const 0)))
        (return (i32.const 0)))
        (call $many) (return (i32.const 0)))
        (call $count) (return (i32.const 0)))
        (call $both) (return (i32.const 0)))
        (call $outside) (return (i32.const 0)))
    (call $late)
    (i32.const 0)))
