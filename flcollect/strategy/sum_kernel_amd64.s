#include "textflag.h"

// 1.5*2^52: a number of up to 2^51 that is added to it is rounded to a whole
// number, which is then the difference of the bit patterns.
DATA whole<>+0(SB)/8, $0x4338000000000000
GLOBL whole<>(SB), RODATA|NOPTR, $8

// 1.5*2^62: the same for multiples of 2^10 up to 2^61.
DATA coarse<>+0(SB)/8, $0x43d8000000000000
GLOBL coarse<>(SB), RODATA|NOPTR, $8

// func depositAVX2(sums *int64, x *float32, n int, scale float64) (rest uint64)
//
// n is a multiple of 4, at least 4; the products stay below 2^61.
TEXT ·depositAVX2(SB), NOSPLIT, $0-40
	MOVQ         sums+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSD scale+24(FP), Y15
	VBROADCASTSD whole<>(SB), Y14
	VBROADCASTSD coarse<>(SB), Y12
	VPXOR        Y13, Y13, Y13

four:
	VCVTPS2PD (SI), Y0
	VMULPD    Y15, Y0, Y0   // s
	VADDPD    Y12, Y0, Y1
	VSUBPD    Y12, Y1, Y3   // the multiple of 2^10 next to s
	VPSUBQ    Y12, Y1, Y1
	VPSLLQ    $10, Y1, Y1   // the same as a whole number
	VSUBPD    Y3, Y0, Y0    // what is left of s
	VADDPD    Y14, Y0, Y2
	VSUBPD    Y14, Y2, Y3
	VPSUBQ    Y14, Y2, Y2
	VSUBPD    Y3, Y0, Y0    // what is left then
	VPADDQ    Y1, Y2, Y2
	VORPD     Y0, Y13, Y13
	VPADDQ    (DI), Y2, Y2
	VMOVDQU   Y2, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $4, CX
	JNZ       four

	VEXTRACTF128 $1, Y13, X0
	VORPD        X0, X13, X13
	VPSRLDQ      $8, X13, X0
	VORPD        X0, X13, X13
	VMOVQ        X13, AX
	MOVQ         AX, rest+32(FP)
	VZEROUPPER
	RET

// func depositAVX512(sums *int64, x *float32, n int, scale float64) (rest uint64)
//
// n is a multiple of 16, at least 16; the products stay below 2^61. The
// conversions round to the nearest whole number, to even in the middle.
TEXT ·depositAVX512(SB), NOSPLIT, $0-40
	MOVQ         sums+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSD scale+24(FP), Z15
	VPXORQ       Z12, Z12, Z12
	VPXORQ       Z13, Z13, Z13

sixteen:
	VCVTPS2PD (SI), Z0
	VCVTPS2PD 32(SI), Z4
	VMULPD    Z15, Z0, Z0
	VMULPD    Z15, Z4, Z4
	VCVTPD2QQ Z0, Z1
	VCVTPD2QQ Z4, Z5
	VCVTQQ2PD Z1, Z2
	VCVTQQ2PD Z5, Z6
	VPADDQ    (DI), Z1, Z1
	VPADDQ    64(DI), Z5, Z5
	VSUBPD    Z2, Z0, Z0
	VSUBPD    Z6, Z4, Z4
	VMOVDQU64 Z1, (DI)
	VMOVDQU64 Z5, 64(DI)
	VPORQ     Z0, Z12, Z12
	VPORQ     Z4, Z13, Z13
	ADDQ      $64, SI
	ADDQ      $128, DI
	SUBQ      $16, CX
	JNZ       sixteen

	VPORQ         Z12, Z13, Z13
	VEXTRACTF64X4 $1, Z13, Y0
	VPOR          Y0, Y13, Y13
	VEXTRACTI128  $1, Y13, X0
	VPOR          X0, X13, X13
	VPSRLDQ       $8, X13, X0
	VPOR          X0, X13, X13
	VMOVQ         X13, AX
	MOVQ          AX, rest+32(FP)
	VZEROUPPER
	RET

// func greatestAVX2(x *float32, n int) uint32
//
// n is a multiple of 32, at least 32.
TEXT ·greatestAVX2(SB), NOSPLIT, $0-20
	MOVQ     x+0(FP), SI
	MOVQ     n+8(FP), CX
	VPCMPEQD Y15, Y15, Y15
	VPSRLD   $1, Y15, Y15  // without the sign
	VPXOR    Y0, Y0, Y0
	VPXOR    Y1, Y1, Y1
	VPXOR    Y2, Y2, Y2
	VPXOR    Y3, Y3, Y3

many:
	VPAND   (SI), Y15, Y4
	VPAND   32(SI), Y15, Y5
	VPAND   64(SI), Y15, Y6
	VPAND   96(SI), Y15, Y7
	VPMAXUD Y4, Y0, Y0
	VPMAXUD Y5, Y1, Y1
	VPMAXUD Y6, Y2, Y2
	VPMAXUD Y7, Y3, Y3
	ADDQ    $128, SI
	SUBQ    $32, CX
	JNZ     many

	VPMAXUD      Y1, Y0, Y0
	VPMAXUD      Y2, Y3, Y3
	VPMAXUD      Y3, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMAXUD      X1, X0, X0
	VPSRLDQ      $8, X0, X1
	VPMAXUD      X1, X0, X0
	VPSRLDQ      $4, X0, X1
	VPMAXUD      X1, X0, X0
	VMOVD        X0, AX
	MOVL         AX, ret+16(FP)
	VZEROUPPER
	RET

// func squaresAVX2(sums *[8]float64, x, y *float32, n int)
//
// n is a multiple of 8, at least 8.
TEXT ·squaresAVX2(SB), NOSPLIT, $0-32
	MOVQ    sums+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    y+16(FP), DX
	MOVQ    n+24(FP), CX
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1

eight:
	VCVTPS2PD (SI), Y2
	VCVTPS2PD 16(SI), Y3
	VCVTPS2PD (DX), Y4
	VCVTPS2PD 16(DX), Y5
	VSUBPD    Y4, Y2, Y2
	VSUBPD    Y5, Y3, Y3
	VMULPD    Y2, Y2, Y2
	VMULPD    Y3, Y3, Y3
	VADDPD    Y2, Y0, Y0
	VADDPD    Y3, Y1, Y1
	ADDQ      $32, SI
	ADDQ      $32, DX
	SUBQ      $8, CX
	JNZ       eight

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VZEROUPPER
	RET

// func squaresAVX512(sums *[8]float64, x, y *float32, n int)
//
// n is a multiple of 8, at least 8.
TEXT ·squaresAVX512(SB), NOSPLIT, $0-32
	MOVQ    sums+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    y+16(FP), DX
	MOVQ    n+24(FP), CX
	VMOVUPD (DI), Z0

eight:
	VCVTPS2PD (SI), Z2
	VCVTPS2PD (DX), Z4
	VSUBPD    Z4, Z2, Z2
	VMULPD    Z2, Z2, Z2
	VADDPD    Z2, Z0, Z0
	ADDQ      $32, SI
	ADDQ      $32, DX
	SUBQ      $8, CX
	JNZ       eight

	VMOVUPD Z0, (DI)
	VZEROUPPER
	RET

// func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
