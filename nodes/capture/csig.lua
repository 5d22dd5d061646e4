-- A Wireshark dissector for CSIG tags, the transport of csiglab and the trailer
-- of its real frames. docs/reference/wire.md has the fields.
--
--   csiglab dissector > csig.lua
--   wireshark -X lua_script:csig.lua FILE
--
-- Or put it into the folder "Personal Lua Plugins" of Help > About > Folders.

local ETHERTYPE = DissectorTable.get("ethertype")
local UDP_PORT = 4793

-- ---------------------------------------------------------------- the tag ----

local UEC050, DRAFT01 = 0, 1
local COMPACT, WIDE = 1, 2

local type_names = {
	[0] = "ABW, available bandwidth (min)",
	[1] = "ABW/C, available share of the port (min)",
	[2] = "Delay, per hop (max)",
	[3] = "nQD, normalised queue depth (max)",
}
local short_names = { [0] = "ABW", [1] = "ABW/C", [2] = "Delay", [3] = "nQD" }
local format_names = { [COMPACT] = "compact, 4 bytes", [WIDE] = "wide, 8 bytes" }

local csig = Proto("csig", "Congestion Signaling")

local cf = {
	format = ProtoField.uint8("csig.format", "Format", base.DEC, format_names),
	t      = ProtoField.uint8("csig.t", "Signal type (T)", base.DEC, type_names),
	r      = ProtoField.uint8("csig.r", "Reserved (R)", base.HEX),
	s      = ProtoField.uint32("csig.s", "Signal value (S)", base.DEC),
	lm     = ProtoField.uint16("csig.lm", "Locator metadata (LM)", base.DEC_HEX),
	d      = ProtoField.bool("csig.d", "Do not update (D)"),
	next   = ProtoField.uint16("csig.ethertype", "EtherType", base.HEX),
	table  = ProtoField.string("csig.quantiser", "Quantiser"),
}
csig.fields = cf

local init = ProtoExpert.new("csig.init", "Initial value: no port has written this tag yet",
	expert.group.COMMENTS_GROUP, expert.severity.COMMENT)
local reserved = ProtoExpert.new("csig.reserved", "Reserved signal type",
	expert.group.PROTOCOL, expert.severity.NOTE)
csig.experts = { init, reserved }

csig.prefs.dialect = Pref.enum("Dialect", UEC050, "Where the locator ends", {
	{ 1, "uec-0.50", UEC050 }, { 2, "draft-01", DRAFT01 },
}, false)
csig.prefs.tpid_compact = Pref.string("TPIDs of compact tags", "0x88b5",
	"EtherTypes, separated by commas; none is assigned, 0x9900 and 0xccdd are in use")
csig.prefs.tpid_wide = Pref.string("TPIDs of wide tags", "0x88b6", "EtherTypes, separated by commas")
csig.prefs.quantisers = Pref.string("Quantisers", "",
	"Names of the domain's quantisers, shown with each value, such as delay-geo; for information only")

-- read_tag returns the fields of a tag without its TPID, as a table.
local function read_tag(range, format)
	local v = { format = format }
	local draft = csig.prefs.dialect == DRAFT01
	local lm
	if format == COMPACT then
		local tci = range(0, 2):uint()
		v.t, v.r, v.s = bit.rshift(tci, 13), bit.band(bit.rshift(tci, 12), 1), bit.band(bit.rshift(tci, 7), 0x1f)
		v.lm, v.initial = bit.band(tci, 0x7f), 0x1f
	else
		v.t, v.s = bit.rshift(range(2, 1):uint(), 4), bit.band(range(2, 3):uint(), 0xfffff)
		v.r = range(5, 1):uint()
		v.lm, v.initial = range(0, 2):uint(), 0xfffff
	end
	if v.t > 1 then -- types that keep the greatest value start from 0
		v.initial = 0
	end
	if not draft then
		v.d, v.lm = bit.band(v.lm, 1) == 1, bit.rshift(v.lm, 1)
	end
	return v
end

-- add_tag shows the fields of a tag under the given ProtoFields.
local function add_tag(tree, range, v, f)
	local at = { t = range(0, 1), r = range(0, 1), s = range(0, 2), lm = range(1, 1), d = range(1, 1) }
	if v.format == WIDE then
		at = { t = range(2, 1), r = range(5, 1), s = range(2, 3), lm = range(0, 2), d = range(1, 1) }
	end
	local t = tree:add(f.t, at.t, v.t)
	if v.t > 3 then
		t:add_proto_expert_info(reserved)
	end
	tree:add(f.r, at.r, v.r)
	tree:add(f.s, at.s, v.s)
	tree:add(f.lm, at.lm, v.lm)
	if v.d ~= nil then
		tree:add(f.d, at.d, v.d)
	end
end

local function describe(v)
	return string.format("%s %d, LM %d%s", short_names[v.t] or ("T " .. v.t), v.s, v.lm, v.d and ", D" or "")
end

local dissect_trailer -- below

-- cut tells that the payload being dissected was not captured.
local cut = false

-- dissect_csig takes what follows the TPID: the tag, the next EtherType and what
-- that says.
local function dissect_csig(tvb, pinfo, tree, format)
	local len = format == COMPACT and 2 or 6
	if tvb:reported_len() < len + 2 then
		return 0
	end
	local v = read_tag(tvb:range(), format)
	local next = tvb(len, 2):uint()
	local sub = tree:add(csig, tvb(0, len + 2))
	sub:append_text(", " .. describe(v))
	sub:add(cf.format, tvb(0, len), format):set_generated()
	add_tag(sub, tvb(0, len), v, cf)
	if v.lm == 0 and v.s == v.initial then
		sub:add_proto_expert_info(init)
	end
	if csig.prefs.quantisers ~= "" then
		sub:add(cf.table, tvb(0, len), csig.prefs.quantisers):set_generated()
	end
	sub:add(cf.next, tvb(len, 2), next)

	if tvb:len() <= len + 2 then
		return tvb:len()
	end
	local inner = tvb(len + 2):tvb()
	local before, outer = inner:reported_len(), cut
	local missing = tvb:reported_len() - tvb:len()
	if missing > 0 then
		-- A range cannot be longer than what was captured, and a network layer
		-- that finds less than its length says is called malformed.
		cut = true
		local whole = tvb(len + 2):bytes()
		before = whole:len() + missing
		whole:set_size(before)
		inner = whole:tvb("Behind the tag, 0 where not captured")
	end
	if ETHERTYPE:try(next, inner, pinfo, tree) == 0 and not cut then
		Dissector.get("data"):call(inner, pinfo, tree)
	end
	cut = outer
	-- The network layer has shortened inner to its own length; Ethernet does not
	-- see that through us, so that the trailer is ours to show.
	local used = inner:reported_len()
	if used < before and tvb:len() > len + 2 + used then
		local rest = tvb(len + 2 + used):tvb()
		if not dissect_trailer(rest, pinfo, tree) then
			Dissector.get("data"):call(rest, pinfo, tree)
		end
	end
	return tvb:len()
end

-- A dissector in the table of EtherTypes does not learn which one it was called
-- for, so that there is one for each format.
local compact = Proto("csig_compact", "Congestion Signaling, compact tag")
local wide = Proto("csig_wide", "Congestion Signaling, wide tag")
function compact.dissector(tvb, pinfo, tree) return dissect_csig(tvb, pinfo, tree, COMPACT) end
function wide.dissector(tvb, pinfo, tree) return dissect_csig(tvb, pinfo, tree, WIDE) end

local registered = {}

local function register()
	for _, r in ipairs(registered) do
		ETHERTYPE:remove(r[1], r[2])
	end
	registered = {}
	for proto, text in pairs({ [compact] = csig.prefs.tpid_compact, [wide] = csig.prefs.tpid_wide }) do
		for word in string.gmatch(text, "[^%s,]+") do
			local tpid = tonumber(word)
			if tpid and tpid >= 0x0600 and tpid <= 0xffff then
				ETHERTYPE:add(tpid, proto)
				table.insert(registered, { tpid, proto })
			end
		end
	end
end

csig.prefs_changed = register
register()

-- ---------------------------------------------------------- the transport ----

local DATA, ACK, NACK, CONTROL, POSTCARD, WEIGHTS = 2, 9, 10, 11, 17, 18
local kind_names = { [DATA] = "Data", [ACK] = "ACK", [NACK] = "NACK", [CONTROL] = "Control", [POSTCARD] = "Postcard", [WEIGHTS] = "Weights" }
local kind_length = { [DATA] = 16, [ACK] = 48, [NACK] = 24, [CONTROL] = 16, [POSTCARD] = 24, [WEIGHTS] = 48 }
local code_names = { [1] = "trimmed", [2] = "trimmed at the last hop", [240] = "out of sequence", [241] = "port down" }

local lab = Proto("csiglab", "csiglab transport")

local lf = {
	type         = ProtoField.uint8("csiglab.type", "Type", base.DEC, kind_names),
	next         = ProtoField.uint8("csiglab.next", "Next header", base.DEC),
	flags        = ProtoField.uint8("csiglab.flags", "Flags", base.HEX),
	ackrequest   = ProtoField.bool("csiglab.flags.ack_request", "ACK request", 8, nil, 0x01),
	retransmit   = ProtoField.bool("csiglab.flags.retransmit", "Retransmit", 8, nil, 0x02),
	eom          = ProtoField.bool("csiglab.flags.end_of_message", "End of message", 8, nil, 0x04),
	ecnecho      = ProtoField.bool("csiglab.flags.ecn_echo", "ECN echo", 8, nil, 0x08),
	retransecho  = ProtoField.bool("csiglab.flags.retransmit_echo", "Retransmit echo", 8, nil, 0x10),
	psn          = ProtoField.uint32("csiglab.psn", "PSN", base.DEC),
	flow         = ProtoField.uint32("csiglab.flow", "Flow", base.DEC),
	payload      = ProtoField.uint16("csiglab.payload_length", "Payload length as sent", base.DEC),
	trimmed      = ProtoField.bool("csiglab.trimmed", "Trimmed"),
	transmission = ProtoField.uint8("csiglab.transmission", "Transmission", base.DEC),
	ev           = ProtoField.uint16("csiglab.ev", "Entropy value of the trigger", base.DEC),
	cumulative   = ProtoField.uint32("csiglab.ack.cumulative", "Next PSN expected", base.DEC),
	acked        = ProtoField.uint32("csiglab.ack.psn", "PSN of the trigger", base.DEC),
	sackbase     = ProtoField.uint32("csiglab.ack.sack_base", "SACK base", base.DEC),
	sackbits     = ProtoField.uint64("csiglab.ack.sack_bits", "SACK bitmap", base.HEX),
	received     = ProtoField.uint64("csiglab.ack.received", "Bytes received", base.DEC),
	outoforder   = ProtoField.uint16("csiglab.ack.out_of_order", "Packets out of order", base.DEC),
	penalty      = ProtoField.uint8("csiglab.ack.penalty", "Window penalty", base.DEC),
	code         = ProtoField.uint8("csiglab.nack.code", "Code", base.DEC, code_names),
	trigger      = ProtoField.uint32("csiglab.control.trigger", "Trigger", base.DEC),
	locator      = ProtoField.uint16("csiglab.nack.locator", "Locator", base.DEC),
	action       = ProtoField.uint32("csiglab.control.code", "Code", base.DEC),
	switch       = ProtoField.uint32("csiglab.switch", "Switch", base.DEC),
	rack         = ProtoField.uint32("csiglab.weights.rack", "Rack", base.DEC),
	sequence     = ProtoField.uint32("csiglab.weights.sequence", "Sequence", base.DEC),
	port         = ProtoField.uint8("csiglab.weights.port", "Port", base.DEC),
	weight       = ProtoField.uint8("csiglab.weights.weight", "Weight", base.DEC),
	echolen      = ProtoField.uint8("csiglab.echo.length", "Length of the CSIG echo", base.DEC),
}
local ef = {
	t  = ProtoField.uint8("csiglab.echo.t", "Signal type (T)", base.DEC, type_names),
	r  = ProtoField.uint8("csiglab.echo.r", "Reserved (R)", base.HEX),
	s  = ProtoField.uint32("csiglab.echo.s", "Signal value (S)", base.DEC),
	lm = ProtoField.uint16("csiglab.echo.lm", "Locator metadata (LM)", base.DEC_HEX),
	d  = ProtoField.bool("csiglab.echo.d", "Do not update (D)"),
}
local all = {}
for _, f in pairs(lf) do table.insert(all, f) end
for _, f in pairs(ef) do table.insert(all, f) end
lab.fields = all

local ip_dscp = Field.new("ip.dsfield.dscp")

local function add_echo(tree, range)
	local len = range(0, 1):uint()
	local format = len == 2 and COMPACT or len == 6 and WIDE
	if not format then
		tree:add(lf.echolen, range(0, 1))
		return ""
	end
	local tag = range(1, len)
	local v = read_tag(tag, format)
	local sub = tree:add(range(0, 1 + len), "CSIG echo: " .. describe(v))
	sub:add(lf.echolen, range(0, 1))
	add_tag(sub, tag, v, ef)
	return ", echo " .. describe(v)
end

function lab.dissector(tvb, pinfo, tree)
	if tvb:len() < 16 then
		return 0
	end
	local kind = bit.rshift(tvb(0, 1):uint(), 3)
	local len = kind_length[kind]
	if not len or tvb:len() < len then
		return 0
	end
	pinfo.cols.protocol = "csiglab"
	local sub = tree:add(lab, tvb(0, len))
	sub:add(lf.type, tvb(0, 1), kind)
	sub:add(lf.next, tvb(0, 2), bit.band(bit.rshift(tvb(0, 2):uint(), 7), 0xf))
	local flags = sub:add(lf.flags, tvb(1, 1), bit.band(tvb(1, 1):uint(), 0x7f))
	for _, f in ipairs({ lf.ackrequest, lf.retransmit, lf.eom, lf.ecnecho, lf.retransecho }) do
		flags:add(f, tvb(1, 1))
	end
	local flow, psn = tvb(8, 4):uint(), tvb(4, 4):uint()
	local info
	if kind == CONTROL then
		sub:add(lf.action, tvb(4, 4))
		sub:add(lf.trigger, tvb(8, 4))
		info = string.format("Control, trigger %d, code %d", flow, psn)
	elseif kind == POSTCARD then
		sub:add(lf.switch, tvb(4, 4))
		sub:add(lf.flow, tvb(8, 4))
		info = string.format("Postcard of switch %d, flow %d", psn, flow) .. add_echo(sub, tvb(14, 7))
	elseif kind == WEIGHTS then
		sub:add(lf.rack, tvb(4, 4))
		sub:add(lf.switch, tvb(8, 4))
		sub:add(lf.sequence, tvb(12, 4))
		for i = 0, math.min(tvb(2, 2):uint(), 16) - 1 do
			sub:add(lf.port, tvb(16 + 2 * i, 1))
			sub:add(lf.weight, tvb(17 + 2 * i, 1))
		end
		info = string.format("Weights for switch %d, rack %d", flow, psn)
	else
		sub:add(lf.flow, tvb(8, 4))
		info = string.format("%s, flow %d, PSN %d", kind_names[kind], flow, psn)
	end
	if kind == DATA then
		sub:add(lf.payload, tvb(2, 2))
		sub:add(lf.psn, tvb(4, 4))
		sub:add(lf.transmission, tvb(12, 1))
		local dscp = ip_dscp()
		local trimmed = dscp ~= nil and (dscp.value == 11 or dscp.value == 12)
		sub:add(lf.trimmed, trimmed):set_generated()
		if trimmed then info = info .. ", trimmed" end
	elseif kind == ACK then
		sub:add(lf.ev, tvb(2, 2))
		sub:add(lf.cumulative, tvb(4, 4))
		sub:add(lf.acked, tvb(12, 4))
		sub:add(lf.sackbase, tvb(16, 4))
		sub:add(lf.sackbits, tvb(20, 8))
		sub:add(lf.received, tvb(28, 8))
		sub:add(lf.outoforder, tvb(36, 2))
		sub:add(lf.penalty, tvb(38, 1))
		info = info .. add_echo(sub, tvb(39, 7))
	elseif kind == NACK then
		sub:add(lf.ev, tvb(2, 2))
		sub:add(lf.psn, tvb(4, 4))
		sub:add(lf.transmission, tvb(12, 1))
		sub:add(lf.code, tvb(13, 1))
		if tvb(13, 1):uint() == 241 then
			sub:add(lf.locator, tvb(22, 2))
		end
		info = info .. add_echo(sub, tvb(14, 7))
	end
	sub:append_text(", " .. info)
	pinfo.cols.info = info
	if tvb:len() > len and not cut then
		Dissector.get("data"):call(tvb(len):tvb(), pinfo, tree)
	end
	return tvb:len()
end

DissectorTable.get("udp.port"):add(UDP_PORT, lab)

-- ------------------------------------------------------------ the trailer ----

local TRAILER, MAGIC = 24, 0xc5161ab1

local trailer = Proto("csiglab_trailer", "csiglab trailer")

local tf = {
	magic    = ProtoField.uint32("csiglab_trailer.magic", "Magic", base.HEX),
	run      = ProtoField.uint32("csiglab_trailer.run", "Run", base.HEX),
	arrival  = ProtoField.uint64("csiglab_trailer.arrival", "Arrival in model time, ps", base.DEC),
	sequence = ProtoField.uint64("csiglab_trailer.sequence", "Sequence on the link", base.DEC),
}
trailer.fields = tf

-- dissect_trailer shows the trailer at the end of tvb; false if it has none.
function dissect_trailer(tvb, pinfo, tree)
	local at = tvb:len() - TRAILER
	if at < 0 or tvb:len() < tvb:reported_len() or tvb(at, 4):uint() ~= MAGIC then
		return false
	end
	local sub = tree:add(trailer, tvb(at, TRAILER))
	sub:append_text(", arrives at " .. tostring(tvb(at + 8, 8):uint64()) .. " ps")
	sub:add(tf.magic, tvb(at, 4))
	sub:add(tf.run, tvb(at + 4, 4))
	sub:add(tf.arrival, tvb(at + 8, 8))
	sub:add(tf.sequence, tvb(at + 16, 8))
	return true
end

function trailer.dissector(tvb, pinfo, tree)
	return dissect_trailer(tvb, pinfo, tree) and tvb:len() or 0
end

trailer:register_heuristic("eth.trailer", dissect_trailer)
