/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The page's style sheet. The colours are those of Okabe and Ito, which colour-blind readers can distinguish; no information is in
 * colour alone.
 */
#ifndef IOPROBE_REPORT_STYLE_H
#define IOPROBE_REPORT_STYLE_H

static const char report_style[] =
	":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:1em auto;padding:0 1em}"
	"h1{font-size:1.4em}h2{font-size:1.15em;border-bottom:1px solid #999;margin-top:1.6em}h3{font-size:1em;margin:.2em 0}"
	"small{font-weight:normal;opacity:.75;overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;margin:.4em 0}"
	"dt{opacity:.75}dd{margin:0;overflow-wrap:anywhere}code{overflow-wrap:anywhere}article{border:1px solid #999;border-left:8px solid #999;"
	"padding:.5em 1em;margin:.6em 0;break-inside:avoid}article p{margin:.3em 0}.high{border-left-color:#d55e00}.warn{border-left-color:#e69f00}"
	".tag{border:1px solid;padding:0 .4em;text-transform:uppercase;font-size:.8em}.bad{border:3px double;padding:.4em;font-weight:bold}"
	"table{border-collapse:collapse;font-size:.92em}td,th{padding:.15em .6em;text-align:left;border-bottom:1px solid #9996;overflow-wrap:anywhere}"
	".n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}svg{max-width:100%;height:auto}"
	"svg text{font:12px system-ui,sans-serif;fill:currentColor}.read{fill:#0072b2}.write{fill:#e69f00}.metadata{fill:#009e73}.sync{fill:#cc79a7}"
	".lock{fill:#d55e00}.mpi{fill:#56b4e9}.library{fill:#999}ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2em 1.2em}"
	"ul.key svg{vertical-align:-2px}@media print{body{max-width:none;font-size:10pt}.wide{overflow:visible}}";

#endif
