; A local variable whose place stands behind other code of the entry block, as inlining leaves them at times.
target triple = "x86_64-pc-linux-gnu"
@start = global i32 0

declare i32 @puts(ptr)

define i32 @main() {
  %first = load i32, ptr @start
  %zero = icmp eq i32 %first, 0
  call void @start_with(i1 %zero)
  %text = alloca [2 x i8]
  store i8 120, ptr %text
  %end = getelementptr i8, ptr %text, i64 1
  store i8 0, ptr %end
  %1 = call i32 @puts(ptr %text)
  ret i32 0
}

define void @start_with(i1 %zero) noinline {
  store i32 1, ptr @start
  ret void
}
