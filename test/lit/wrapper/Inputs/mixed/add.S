        .text
        .globl add_in_assembly
        .type add_in_assembly, @function
add_in_assembly:
        leal (%rdi,%rsi), %eax
        ret
        .size add_in_assembly, .-add_in_assembly
        .section .note.GNU-stack,"",@progbits
