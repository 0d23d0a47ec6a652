// Instruction-set levels: each level is one translation unit (kernels.cpp compiled with its flags) whose code
// lives in a namespace of its own. Without that the linker would merge inline functions of different levels.
#pragma once

#ifndef UKEMI_LEVEL
#error "compile with -DUKEMI_LEVEL=<name>"
#endif

#define UKEMI_BEGIN namespace ukemi { namespace UKEMI_LEVEL {
#define UKEMI_END } }

#ifdef UKEMI_INLINE  // given: sanitized builds leave it to the compiler
#elif defined(__GNUC__)
#define UKEMI_INLINE [[gnu::always_inline]] inline
#else
#define UKEMI_INLINE inline
#endif
