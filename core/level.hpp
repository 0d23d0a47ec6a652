// Instruction-set levels: kernels.cpp and its neighbours, compiled once per level with its flags; the code of a level
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
