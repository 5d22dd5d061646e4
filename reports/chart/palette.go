package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Paint is a colour by its name. What it looks like is up to a Palette; on a page it is a CSS
// variable. The zero value paints nothing.
type Paint uint8

// Paints that stand alone. The others are made by Flow, Action, Load, Scale and Change.
const (
	None     Paint = iota
	Ink            // text and what is as strong
	Soft           // text of less weight
	Axis           // axes and edges
	Grid           // lines of a grid
	Rule           // lines between things
	Shade          // a span of the ground that is set off
	Paper          // the ground
	Card           // the ground of boxes beside it
	Target         // what is aimed at, and what the reader shall find
	Rest           // what stands for all others
	BarInk         // text on parts of bars
	Good           // what is well
	Warn           // what may be wrong
	Bad            // what is wrong
	Switch         // boxes of switches
	Host           // boxes of hosts
	Idle           // cells of next to nothing
	OnDark         // text on strong cells
	OnMiddle       // text on cells of middle strength
	flow0
	action0 = flow0 + Flows
	load0   = action0 + Actions
	scale0  = load0 + Loads // of level 1
	less0   = scale0 + Levels
	more0   = less0 + Changes
	path0   = more0 + Changes // what a critical path is in
	paints  = path0 + Paint(ins)
)

// Counts of paints of a kind.
const (
	Flows   = 8  // strong colours that differ: of flows, variants, ports, jobs
	Actions = 12 // pale colours that differ: of parts of bars
	Loads   = 4  // classes of load, from idle to full
	Levels  = 10 // of the sequential scale
	Changes = 5  // of the diverging scale, on each side
)

// Flow returns the i-th of the strong colours; from Flows on they repeat.
func Flow(i int) Paint { return flow0 + Paint(wrap(i, Flows)) }

// Action returns the i-th of the pale colours; from Actions on they repeat.
func Action(i int) Paint { return action0 + Paint(wrap(i, Actions)) }

// Load returns the colour of a class of load, from 0 for idle to Loads-1.
func Load(class int) Paint { return load0 + Paint(min(max(class, 0), Loads-1)) }

// Scale returns the colour of a level of the sequential scale, from 1 to Levels; Idle for 0.
func Scale(level int) Paint {
	if level <= 0 {
		return Idle
	}
	return scale0 + Paint(min(level, Levels)-1)
}

// Change returns the colour of a level of the diverging scale: from -Changes, for much less,
// to Changes, for much more; Idle for 0.
func Change(level int) Paint {
	switch {
	case level < 0:
		return less0 + Paint(min(-level, Changes)-1)
	case level > 0:
		return more0 + Paint(min(level, Changes)-1)
	}
	return Idle
}

func wrap(i, n int) int { return (i%n + n) % n }

// inPath returns the colour of what a critical path is in: tints of its own colour, which no
// kind of span has.
func inPath(in In) Paint { return path0 + Paint(in) }

// LevelOf returns the level of a share of the sequential scale: 0 below half a per cent.
func LevelOf(share float64) int {
	if !(share >= 0.005) {
		return 0
	}
	return min(max(int(math.Ceil(share*Levels-1e-9)), 1), Levels)
}

// ChangeOf returns the level of a difference on a diverging scale that ends at most: 0 within
// two per cent of it.
func ChangeOf(v, most float64) int {
	share := math.Abs(v) / most
	if !(share >= 0.02) {
		return 0
	}
	level := min(max(int(math.Ceil(share*Changes-1e-9)), 1), Changes)
	if v < 0 {
		return -level
	}
	return level
}

// onPaint returns the colour of text on a cell of a paint.
func onPaint(p Paint) Paint {
	switch {
	case p >= scale0 && p < less0:
		switch level := int(p-scale0) + 1; {
		case level > 6:
			return OnDark
		case level == 6:
			return OnMiddle
		}
		return BarInk
	case p >= less0 && p < path0:
		switch level := int(p-less0)%Changes + 1; {
		case level > 3:
			return OnDark
		case level == 3:
			return OnMiddle
		}
		return Ink
	case p >= action0 && p < load0:
		return BarInk
	}
	return Ink
}

var paintNames = [...]string{"", "ink", "soft", "axis", "grid", "rule", "shade", "paper", "card", "target", "rest", "bar-ink", "good", "warn", "bad", "switch", "host", "idle", "on-dark", "on-middle"}

// Variable returns the name of the CSS variable that holds the paint on a page: "--ink".
func (p Paint) Variable() string {
	switch {
	case p >= path0:
		return fmt.Sprintf("--path-%d", p-path0)
	case p >= more0:
		return fmt.Sprintf("--more-%d", p-more0+1)
	case p >= less0:
		return fmt.Sprintf("--less-%d", p-less0+1)
	case p >= scale0:
		return fmt.Sprintf("--s%d", p-scale0+1)
	case p >= load0:
		return fmt.Sprintf("--load-%d", p-load0)
	case p >= action0:
		return fmt.Sprintf("--action-%d", p-action0)
	case p >= flow0:
		return fmt.Sprintf("--flow-%d", p-flow0)
	}
	return "--" + paintNames[p]
}

// Hatch is a pattern of lines over a fill. Print has them, so that fills of like grey differ.
type Hatch uint8

// Hatches.
const (
	Plain  Hatch = iota
	Rising       // from the lower left to the upper right
	Falling
	Upright
	Across
	hatches
)

// Palette says what paints look like.
type Palette struct {
	colours [paints]color.NRGBA
	hatches [paints]Hatch
}

// Palettes: of pages on white and on black ground, and of papers, where a grey print tells
// neighbours apart.
var (
	Light = newPalette(nil, "1c2330 566072 8b94a3 e4e7ec d9dde4 eef1f6 ffffff f6f7f9 b3123f 7a8291 10151d 12703f 8a5a00 b3123f eef3fa ffffff f1f3f6 ffffff 10151d",
		"0072b2 d55e00 00875f b65190 2a8fc8 b07a00 4b4fb8 3b4150", "d3d8e0 9fd8c4 8ec3ea d7b3e0 f4ab7f f2d778 b4bdf5 c3dd7f f5b5c8 7fd3e0 d0b89a 93ac93", "ccd2db e6dcae f2d26b f0bd00",
		"f7fcd5 e4f4b6 bfe5b5 8fd3ba 5bbfc1 36a5c2 1f78ae 2460a6 253f8f 0b1d5e", "d3e5f3 92c5de 4a9bc9 2166ac 053061", "fde3bf fdb863 e08214 b35806 6b3106", "3a0517 940f36 d8386b f093b3")
	Dark = newPalette(nil, "e6eaf1 a3adbd 6d7889 28303c 313a48 1f2733 12161d 1a2029 ff7d9c 97a1b1 f4f6fa 5fd39a f0c04a ff7d9c 223044 171d26 1d242e 10151d 10151d",
		"4fb3f0 ff9350 3fd0a0 ea94c6 8fd4ff f0c04a a8abff d3d9e3", "465062 1f6f59 245f92 74468a a24d1b 80660f 4a4fae 4f6b16 96365c 0f6c7c 6e5238 3c5a48", "333d4b 6b6236 8f7726 c79c00",
		"2b2258 3b2f77 3f4a8a 35648d 287889 21948a 35ad79 66c85d aadc32 fde725", "1c3452 28568a 4a97dd 7dbdf2 c4e3ff", "47331a 7d4d14 d0852a f0ae58 ffdfae", "ffe3ea ff9db5 e2456f 8f2346")
	// Print's flows and actions alternate between dark and bright ones.
	Print = newPalette(map[Paint]Hatch{Action(1): Rising, Action(3): Falling, Action(4): Upright, Action(5): Across, Action(6): Falling, Action(7): Upright, Action(8): Across, Action(9): Rising, Action(10): Upright, Action(11): Falling, Change(1): Rising, Change(2): Rising, Change(3): Rising, Change(4): Rising, Change(5): Rising,
		Flow(2): Rising, Flow(4): Falling, Flow(6): Upright, inPath(InQueue): Rising, inPath(InWait): Falling}, "000000 404040 606060 dcdcdc c8c8c8 ededed ffffff f6f6f6 a0002c 6e6e6e 000000 0b5a32 7a4e00 a0002c eef3fa ffffff f2f2f2 ffffff 000000",
		"00446b e08a3c 1d6b50 d68fc0 123f63 c99a2e 2f2f80 909090", "cfd4db 6fae98 dbe9f6 a57fb1 fbdcc4 c2a233 e3e6fb 8fae4e f9dfe7 5aa9b6 e8dcc8 86a083", "c8ccd2 9a9a9a 5c5c5c 000000",
		"fbfbe8 e6f0cf cbe4c6 abd5c2 86c1c2 61a6bd 3f83ab 2e6496 254682 0b1d5e", "dfebf5 a9cbe3 6ea3c9 3a6ea5 0d2f5c", "fbe6cb f2c08a cc8f45 96601e 5c3006", "1a0007 8c1034 c2577a e59db4")
)

// newPalette reads the colours of all paints, in their order, as hexadecimal numbers.
func newPalette(hatches map[Paint]Hatch, colours ...string) *Palette {
	p := &Palette{}
	all := strings.Fields(strings.Join(colours, " "))
	if len(all) != int(paints)-1 {
		panic(fmt.Sprintf("chart: a palette of %d colours, want %d", len(all), paints-1))
	}
	for i, text := range all {
		rgb, err := strconv.ParseUint(text, 16, 24)
		if err != nil {
			panic("chart: colour " + text)
		}
		p.colours[i+1] = color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xFF}
	}
	for paint, hatch := range hatches {
		p.hatches[paint] = hatch
	}
	return p
}

// Colour returns what a paint looks like; of None it is transparent.
func (p *Palette) Colour(paint Paint) color.NRGBA { return p.colours[paint] }

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// CSS returns the rules that give a page the variables of all paints: those of Light, and
// those of Dark on screens whose reader prefers it.
func CSS() string {
	return ":root {\n  color-scheme: light;\n" + Light.variables() + "}\n@media screen and (prefers-color-scheme: dark) {\n:root {\n  color-scheme: dark;\n" + Dark.variables() + "}\n}\n"
}

func (p *Palette) variables() string {
	var b strings.Builder
	for paint := range slices.Values(allPaints()) {
		fmt.Fprintf(&b, "  %s: %s;\n", paint.Variable(), hex(p.colours[paint]))
	}
	return b.String()
}

func allPaints() (all []Paint) {
	for p := Ink; p < paints; p++ {
		all = append(all, p)
	}
	return all
}

// Look is how a line is drawn. Dashes distinguish lines without colour.
type Look struct {
	Paint  Paint
	Width  float64   // 0 for that of lines, 1.6
	Dashes []float64 // lengths of dashes and gaps in turn; nil for none
}

var lineDashes = [...][]float64{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 2}, {12, 3}, {1, 2}, {6, 2, 1, 2, 1, 2}}

// Nth returns the look of the i-th of many lines: different ones for 64 lines.
func Nth(i int) Look {
	i = wrap(i, Flows*len(lineDashes))
	if i < Flows {
		return Look{Paint: Flow(i), Dashes: lineDashes[i]}
	}
	i -= Flows
	return Look{Paint: Flow(i), Dashes: lineDashes[(i%Flows+1+i/Flows)%len(lineDashes)]}
}

// Beside returns the look of the i-th of many lines that are no variants, on a page of so many
// variants: as Nth, in grey and the colours of Nth that no variant has. Where there is one variant,
// no line is it, and all colours are free.
func Beside(variants, i int) Look {
	if variants < 2 {
		return Nth(i)
	}
	free := []Paint{Rest}
	for v := variants; v < Flows; v++ {
		free = append(free, Flow(v))
	}
	if len(free) == 1 {
		free = append(free, Ink) // which is near to the last of Flow
	}
	free = append(free[1:], free[0])
	i = wrap(i, len(free)*len(lineDashes))
	at, row := i%len(free), i/len(free)
	return Look{Paint: free[at], Dashes: lineDashes[(at+row)%len(lineDashes)]}
}

// Others is the look of the line that stands for all others.
func Others() Look { return Look{Paint: Rest, Width: 1.5, Dashes: []float64{1, 2}} }

// Slowed is the look of the line over a link that a fault slowed.
func Slowed() Look { return Look{Paint: Target, Width: 3, Dashes: []float64{4, 3}} }

// Model returns the look of what a model says of a line: in its colour, thin and dashed.
func (l Look) Model() Look { return Look{Paint: l.Paint, Width: 1.1, Dashes: []float64{3, 3}} }

func (l Look) width() float64 { return cmp.Or(l.Width, 1.6) }
