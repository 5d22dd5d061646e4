package chart

// Map has the load of the links of a Graph over time, for the page's script. Without script the
// page shows the drawing alone.
type Map struct {
	Lines      []string      `json:"lines"` // names, in the order of Graph.Links
	Variants   []MapVariant  `json:"variants"`
	Quantities []MapQuantity `json:"quantities"` // what links can be coloured by
	// Keys are the swatches of its legend; the script writes the texts of the quantity.
	Keys []Key `json:"-"`
}

// MapVariant has the values of a variant.
type MapVariant struct {
	Name  string  `json:"name"`
	BinUS float64 `json:"binUs"` // width of a bin in µs
	Bins  int     `json:"bins"`
	// Values has for each quantity a byte for each line and bin, line after line: per cent, or
	// NoByte. It is nil for a quantity that the variant lacks.
	Values [][]byte `json:"values"`
}

// NoByte stands for no value in MapVariant.Values.
const NoByte = 255

// MapQuantity is what links can be coloured by.
type MapQuantity struct {
	Name   string   `json:"name"`
	Verb   string   `json:"verb"`          // after a value in per cent
	Low    bool     `json:"low,omitempty"` // small values are the dark ones
	Legend []string `json:"legend"`        // of no or nearly no colour, then of each pair of levels
}
