/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * All detectors, in the order of the manual. This list makes the table, --explain and the list of tests. To add a finding: a struct
 * detector in one of the detect_*.c files, its code here, a case of tests/planted named as its .test, and a line in
 * tests/e2e/report*.sh; or a case of tests/contract/findings_test.py. That test compares the list with both.
 */
#ifndef IOPROBE_ANALYSIS_DETECTORS_H
#define IOPROBE_ANALYSIS_DETECTORS_H

#include "analysis/analysis.h"

#define DETECTORS(X) \
	X(P01) X(P02) X(P03) X(P04) X(P05) X(P06) X(P07) X(P08) X(P09) X(P10) X(P11) X(P12) X(P13) X(P14) X(P15) X(P16) \
	X(P17) X(P18) X(P19) X(P21) X(P22) \
	X(M01) X(M02) X(M03) X(M04) X(M05) X(M06) X(M07) X(M08) X(M09) X(M10) \
	X(S01) \
	X(X01) X(X02) X(X03) X(X04) X(X05) X(X06) X(X07) X(X08) X(X09) X(X10) X(X11) X(X12) X(X13) X(X14) X(X15) X(X16) \
	X(X17) X(X18) X(X19) X(X20) X(X21) X(X22) X(X23) X(X24) X(X25) X(X26) X(X27) X(X28) X(X29) X(X30) X(X31) X(X32) \
	X(X33) X(X34) X(X35) X(X36)

#define X(code) extern const struct detector detector_##code;
DETECTORS(X)
#undef X

#endif
