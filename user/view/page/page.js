// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Draws the intervals that the server sends. All text from the recording is set as text, never as markup.
"use strict";

const KEPT = 900;
// Okabe and Ito's colours, told apart with every kind of colour blindness; dashes tell them apart without colours.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#999999"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "", "6 3", "2 3", "8 3 2 3"];
const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);

const CLASSES = ["read", "write", "metadata", "sync", "lock", "request", "other"];
const SIZES = ["≤ 100 B", "≤ 1 KiB", "≤ 10 KiB", "≤ 100 KiB", "≤ 1 MiB", "≤ 4 MiB", "≤ 10 MiB", "≤ 100 MiB", "≤ 1 GiB", "> 1 GiB"];

// range: [first, last] number of the intervals to show, null: the newest ones.
let length = 1, intervals = [], layerNames = [], paused = false, ended = null, range = null;
const healthTotals = { lost: 0, lag: 0, gaps: 0, gap_time: 0, skipped: 0, clock_steps: 0 };

function unit(value, units, step) {
	let i = 0;
	while (value >= step && i < units.length - 1) {
		value /= step;
		i++;
	}
	return (value >= 100 || value === Math.floor(value) ? Math.round(value) : value.toFixed(value >= 10 ? 1 : 2)) + " " + units[i];
}
const bytes = value => unit(value, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
const count = value => unit(value, ["", "k", "M", "G"], 1000).trim();
const seconds = value => value >= 1 ? value.toFixed(2) + " s" : value >= 1e-3 ? (value * 1e3).toFixed(1) + " ms" : (value * 1e6).toFixed(0) + " µs";

function element(name, attributes, text) {
	const e = document.createElementNS(SVG, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	return e;
}

function shown() {
	const n = Math.ceil(Number(byId("span").value) / length);
	if (range)
		return intervals.filter(interval => interval.number >= range[0] && interval.number <= range[1]);
	return n ? intervals.slice(-n) : intervals;
}

function layerOf(interval, name) {
	return interval.layers.find(layer => layer.name === name);
}

function colourOf(name) {
	const list = [layerNames, ["in flight", "failed"], CLASSES].find(names => names.includes(name)) || [];
	return Math.max(0, list.indexOf(name)) % COLOURS.length;
}

function legend(names) {
	const div = document.createElement("div");
	div.className = "legend";
	for (const name of names) {
		const item = document.createElement("span"), svg = element("svg", { viewBox: "0 0 26 10" }), i = colourOf(name);
		svg.append(element("line", { x1: 0, y1: 5, x2: 26, y2: 5, stroke: COLOURS[i], "stroke-width": 3, "stroke-dasharray": DASHES[i] }));
		item.append(svg, name);
		div.append(item);
	}
	return div;
}

const WIDTH = 600, LEFT = 70, RIGHT = 6;

// One line per layer of what value(layer) says, per second.
function drawLayers(id, value, format) {
	const data = shown();
	const names = layerNames.filter(name => data.some(interval => value(layerOf(interval, name) || {}) > 0));
	drawChart(id, data, names, names.map(name => data.map(interval => (value(layerOf(interval, name) || {}) || 0) / length)), format);
}

function drawChart(id, data, names, rows, format) {
	const width = WIDTH, height = 170, left = LEFT, bottom = 20, top = 8;
	const most = rows.flat().reduce((a, b) => Math.max(a, b), 1);
	const x = i => left + (width - left - RIGHT) * (data.length < 2 ? 1 : i / (data.length - 1)), y = v => height - bottom - (height - bottom - top) * v / most;
	const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": byId(id).parentNode.querySelector("h2").textContent });
	for (const share of [0, 0.5, 1]) {
		svg.append(element("line", { x1: left, x2: width - 6, y1: y(most * share), y2: y(most * share), stroke: "#8885" }));
		svg.append(element("text", { x: left - 6, y: y(most * share) + 4, "text-anchor": "end" }, format(most * share)));
	}
	if (data.length) {
		const time = interval => new Date(interval.begin * 1000).toLocaleTimeString();
		svg.append(element("text", { x: left, y: height - 5 }, time(data[0])));
		svg.append(element("text", { x: width - 6, y: height - 5, "text-anchor": "end" }, time(data[data.length - 1])));
	}
	rows.forEach((row, r) => {
		const i = colourOf(names[r]);
		svg.append(element("polyline", { points: row.map((v, k) => `${x(k)},${y(v)}`).join(" "), fill: "none", stroke: COLOURS[i], "stroke-width": 2,
			"stroke-dasharray": DASHES[i] }));
	});
	byId(id).replaceChildren(svg, legend(names));
}

// Rank by time; the colour is the share of the interval in I/O calls. Lighter is more.
function drawHeat() {
	const data = shown(), rows = new Map();
	data.forEach((interval, k) => interval.processes.forEach(([id, rank, name, time]) => {
		if (!rows.has(id))
			rows.set(id, { rank, name, times: [] });
		rows.get(id).name = name;
		rows.get(id).rank = rank;
		rows.get(id).times[k] = time;
	}));
	const order = [...rows.values()].sort((a, b) => (a.rank < 0) - (b.rank < 0) || a.rank - b.rank || a.name.localeCompare(b.name)).slice(0, 256);
	const canvas = byId("heat"), width = Math.max(1, data.length), height = Math.max(1, order.length);
	canvas.width = width;
	canvas.height = height;
	const context = canvas.getContext("2d");
	order.forEach((row, r) => row.times.forEach((time, k) => {
		const share = Math.min(1, time / length);
		context.fillStyle = `hsl(${250 - 200 * share} 80% ${15 + 65 * share}%)`;
		context.fillRect(k, r, 1, 1);
	}));
	byId("heatnote").textContent = order.length ? `${order[0].name} at the top, ${order[order.length - 1].name} at the bottom; dark: little time in I/O calls, light: all of the interval` : "";
}

function fillTable(id, rows) {
	byId(id).tBodies[0].replaceChildren(...rows.map(cells => {
		const row = document.createElement("tr");
		for (const cell of cells)
			row.insertCell().textContent = cell;
		return row;
	}));
}

function drawFlight() {
	const data = shown();
	const failed = interval => interval.layers.reduce((sum, layer) => sum + layer.failed, 0) / length;
	drawChart("flight", data, ["in flight", "failed"], [data.map(interval => interval.open_calls), data.map(failed)], count);
}

function drawSizes(totals) {
	const used = SIZES.map((_, i) => i).filter(i => totals.some(layer => layer.read_sizes[i] + layer.write_sizes[i]));
	const head = byId("sizes").tHead.rows[0];
	head.replaceChildren(...["layer", ...used.map(i => SIZES[i])].map(text => {
		const cell = document.createElement("th");
		cell.textContent = text;
		return cell;
	}));
	const rows = totals.flatMap(layer => [[layer.name + " reads", layer.read_sizes], [layer.name + " writes", layer.write_sizes]]);
	fillTable("sizes", rows.filter(([, sizes]) => sizes.some(n => n)).map(([name, sizes]) => [name, ...used.map(i => sizes[i] ? count(sizes[i]) : "-")]));
}

// Of one layer, because layers contain each other: the lowest one unless another is chosen.
function drawClasses() {
	const select = byId("layer"), data = shown();
	for (const name of layerNames)
		if (![...select.options].some(option => option.value === name)) {
			select.append(new Option(name, name));
			if (!select.dataset.chosen)
				select.value = layerNames.includes("POSIX") ? "POSIX" : layerNames[layerNames.length - 1];
		}
	const calls = (interval, name) => ((layerOf(interval, select.value) || {}).classes || {})[name] || 0;
	const names = CLASSES.filter(name => data.some(interval => calls(interval, name)));
	drawChart("classes", data, names, names.map(name => data.map(interval => calls(interval, name) / length)), count);
}

// Rows with the same key are added up; the last of each row's numbers, its time, decides the order.
function sumRows(rows, key, numbers) {
	const sums = new Map();
	for (const row of rows) {
		const sum = sums.get(key(row));
		if (!sum)
			sums.set(key(row), [...row]);
		else
			for (const i of numbers)
				sum[i] += row[i];
	}
	const time = numbers[numbers.length - 1];
	return [...sums.values()].sort((a, b) => b[time] - a[time]);
}

function addHealth(sum, interval) {
	sum.lost += interval.lost;
	sum.lag = Math.max(sum.lag, interval.lag);
	for (const key in interval.health)
		sum[key] += interval.health[key];
}

function drawShownTables() {
	const data = shown(), now = { lost: 0, lag: 0, gaps: 0, gap_time: 0, skipped: 0, clock_steps: 0 }, all = healthTotals;
	const processes = sumRows(data.flatMap(interval => interval.processes), row => row[0], [3]);
	const files = sumRows(data.flatMap(interval => interval.files), row => row[0] + "\0" + row[1], [2, 3, 4]);
	const mounts = sumRows(data.flatMap(interval => interval.mounts), row => row[0] + "\0" + row[1], [2, 3, 4, 5]);
	fillTable("processes", processes.slice(0, 10).map(([, , name, time]) => [name, seconds(time)]));
	fillTable("files", files.slice(0, 20).map(([path, layer, read, written, time]) => [path, layer, bytes(read), bytes(written), seconds(time)]));
	fillTable("mounts", mounts.map(([mount, layer, read, written, calls, time]) => [mount, layer, bytes(read), bytes(written), count(calls), seconds(time)]));
	data.forEach(interval => addHealth(now, interval));
	fillTable("health", [
		["greatest lag", seconds(now.lag), seconds(all.lag)],
		["records lost, as far as noticed", now.lost, ended ? (ended.complete ? "" : "at least ") + ended.lost : all.lost],
		["gaps: a layer of a process was not observed", `${now.gaps}, ${seconds(now.gap_time)}`, `${all.gaps}, ${seconds(all.gap_time)}`],
		["calls that filters skipped", now.skipped, all.skipped],
		["steps of the clock", now.clock_steps, all.clock_steps]]);
}

function draw() {
	const last = intervals[intervals.length - 1];
	drawLayers("written", layer => layer.written, v => bytes(v) + "/s");
	drawLayers("read", layer => layer.read, v => bytes(v) + "/s");
	drawLayers("calls", layer => layer.calls, count);
	drawLayers("metadata", layer => (layer.classes || {}).metadata, count);
	drawClasses();
	drawFlight();
	drawHeat();
	byId("whole").hidden = !range;
	if (!last)
		return;
	fillTable("layers", last.layers.map(l => [l.name, count(l.calls / length), count(l.failed / length), bytes(l.read / length), bytes(l.written / length), l.unknown, seconds(l.time), seconds(l.longest), l.open]));
	fillTable("totals", last.totals.map(l => [l.name, l.calls, l.failed, bytes(l.read), bytes(l.written), seconds(l.time_ns / 1e9)]));
	// Exact numbers, for programs that look at the page.
	byId("totals").dataset.totals = JSON.stringify(last.totals);
	drawSizes(last.totals);
	drawShownTables();
	byId("state").textContent = (ended ? `the recording has ended; records lost ${ended.complete ? "" : "at least "}${ended.lost}` :
		`${new Date(last.begin * 1000).toLocaleTimeString()}, ${last.open_calls} open calls, ${last.lag.toFixed(1)} s behind${healthTotals.lost ? `, at least ${healthTotals.lost} records lost` : ""}`) + (paused ? " (paused)" : "");
}

function take(message) {
	if (message.type === "begin") {
		length = message.interval;
		byId("host").textContent = message.host + (message.batch_job ? `, job ${message.batch_job}` : "");
		byId("command").textContent = message.command_line || "";
	} else if (message.type === "interval") {
		intervals.push(message);
		addHealth(healthTotals, message);
		for (const [number, name, time] of message.earlier) {
			const layer = layerOf(intervals.find(interval => interval.number === number) || { layers: [] }, name);
			if (layer)
				layer.time += time;
		}
		intervals.splice(0, Math.max(0, intervals.length - KEPT));
		for (const layer of message.layers)
			if (!layerNames.includes(layer.name))
				layerNames.push(layer.name);
	} else if (message.type === "end") {
		ended = message;
	}
}

let pending = false;
function drawSoon() {
	if (pending || paused)
		return;
	pending = true;
	requestAnimationFrame(() => { pending = false; draw(); });
}

const events = new EventSource("events" + location.search);
events.onmessage = event => {
	take(JSON.parse(event.data));
	if (ended)
		events.close();
	drawSoon();
};
events.onerror = () => { if (!ended) byId("state").textContent = "the connection to ioprobe is lost"; };
byId("layer").onchange = () => { byId("layer").dataset.chosen = "1"; draw(); };
byId("span").onchange = () => { range = null; draw(); };
byId("whole").onclick = () => { range = null; draw(); };

// A drag over a chart chooses the range that all charts show.
for (const chart of document.querySelectorAll(".chart")) {
	let from = null;
	const at = event => {
		const box = chart.firstChild.getBoundingClientRect(), data = shown();
		const share = ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
		return data.length ? data[Math.round(Math.min(1, Math.max(0, share)) * (data.length - 1))].number : null;
	};
	chart.onpointerdown = event => { from = event.button ? null : at(event); };
	chart.onpointerup = event => {
		const to = from === null ? null : at(event);
		if (to !== null && to !== from) {
			range = [Math.min(from, to), Math.max(from, to)];
			draw();
		}
		from = null;
	};
}
byId("pause").onclick = () => {
	paused = !paused;
	byId("pause").textContent = paused ? "Go on" : "Pause";
	draw();
};
