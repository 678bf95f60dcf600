; SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
(set! geometry-lattice (make lattice (size 8 8 no-size)))
(set! geometry (list (make block (center 0 0) (size infinity 1 infinity) (material (make dielectric (epsilon 12))))))
(set! sources (list (make source (src (make continuous-src (frequency 0.15))) (component Ez) (center -3 0))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 5)
(run-until 5 (at-beginning output-epsilon) (at-end output-efield-z))
