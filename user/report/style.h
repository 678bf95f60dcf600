/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The page's style sheet. The colours are those of Okabe and Ito, which colour-blind readers can distinguish; no information is in
 * colour alone.
 */
#ifndef IOPROBE_REPORT_STYLE_H
#define IOPROBE_REPORT_STYLE_H

static const char report_style[] =
	":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:1em auto;padding:0 1em}"
	"h1,h2,h3,p,li{overflow-wrap:anywhere}h1{font-size:1.4em}h2{font-size:1.15em;border-bottom:1px solid "
	"#999;margin-top:1.6em}h3{font-size:1em;margin:.2em "
	"0}small{font-weight:normal;opacity:.75;overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content "
	"1fr;gap:.15em 1em;margin:.4em 0}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.1em 0 "
	".5em}dt{opacity:.75}dd{margin:0;overflow-wrap:anywhere}code{overflow-wrap:anywhere}article{border:1px solid "
	"#999;border-left:8px solid #999;padding:.5em 1em;margin:.6em 0;break-inside:avoid}article p{margin:.3em "
	"0}.high{border-left-color:#d55e00}.warn{border-left-color:#e69f00}.tag{border:1px solid;padding:0 "
	".4em;text-transform:uppercase;font-size:.8em}.bad{border:3px "
	"double;padding:.4em;font-weight:bold}table{border-collapse:collapse;font-size:.92em}td,th{padding:.15em "
	".6em;text-align:left;border-bottom:1px solid "
	"#9996;overflow-wrap:anywhere}.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.wide{overflow-x:"
	"auto}svg{max-width:100%;height:auto}svg text{font:12px "
	"system-ui,sans-serif;fill:currentColor}.read{fill:#0072b2}.write{fill:#e69f00}.metadata{fill:#009e73}.sync{fill:#cc79a7}."
	"lock{fill:#d55e00}.mpi{fill:#56b4e9}.library{fill:#999}ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:."
	"2em 1.2em}ul.key svg{vertical-align:-2px}.wide svg{max-width:none}svg .head{font-weight:bold}svg "
	".on{fill:#000;font-size:11px}.grid{stroke:#9996}"
	/* layers, in the order of enum trace_layer */
	".l0,.l6,.l9,.l10{fill:#bbb}.l1{fill:#3d9fd6}.l2{fill:#cc79a7}.l3{fill:#009e73}.l4{fill:#e69f00}.l5{fill:#f0e442}.l7{fill:#"
	"d55e00}.l8{fill:#56b4e9}"
	/* kinds of calls on handles: enum detail_kind */
	".k0{fill:#56b4e9}.k1{fill:#0072b2}.k2{fill:#e69f00}.k3{fill:#009e73}.k4{fill:#999}.node{fill:#0072b2}.rank{fill:#56b4e9}"
	".d1{padding-left:1.6em}.d2{padding-left:2.6em}.d3{padding-left:3.6em}.d4{padding-left:4.6em}.d5{padding-left:5.6em}.d6{"
	"padding-left:6.6em}.d7{padding-left:7.6em}.d8{padding-left:8.6em}td:first-child{min-width:5em}th.n{white-space:normal}@"
	"media print{body{max-width:none;font-size:10pt}.wide{overflow:visible}.wide "
	"svg{max-width:100%}svg,tr{break-inside:avoid}table{font-size:8pt}td,th{padding:.1em "
	".25em}.n{white-space:normal}td:first-child{min-width:0}}";

#endif
