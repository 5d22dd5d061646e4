package metrics

// Attached is a host and the first switch that it is attached to.
type Attached struct {
	Host   string
	Switch string // "": none
}

// Racks are blocks of hosts, between which what is measured end to end is shown.
type Racks struct {
	// By is what a block is: "tor" the hosts below one switch, "tors" those below several
	// switches that follow each other, or "hosts" hosts that follow each other, in fabrics of
	// one switch or with hosts that have none.
	By     string
	Blocks []Rack
	Of     []int // block of each host
}

// Rack is hosts that follow each other.
type Rack struct {
	Name  string `json:"name"` // of its switch, or of the first and the last one, or host
	Hosts int    `json:"hosts"`
}

// RacksOf puts hosts into at most most blocks, in the order in which their switches come.
func RacksOf(hosts []Attached, most int) Racks {
	r := Racks{By: "tor", Of: make([]int, len(hosts))}
	at := map[string]int{}
	var names []string
	for i, h := range hosts {
		if h.Switch == "" {
			r.By = "hosts"
		}
		k, ok := at[h.Switch]
		if !ok {
			k = len(names)
			at[h.Switch] = k
			names = append(names, h.Switch)
		}
		r.Of[i] = k
	}
	if len(names) < 2 {
		r.By = "hosts"
	}
	if r.By == "hosts" {
		names = names[:0]
		for i, h := range hosts {
			r.Of[i] = i
			names = append(names, h.Host)
		}
	}
	per := (len(names) + most - 1) / most
	if per > 1 && r.By == "tor" {
		r.By = "tors"
	}
	for i := 0; i < len(names); i += per {
		b := Rack{Name: names[i]}
		if last := min(i+per, len(names)) - 1; last > i {
			b.Name += "–" + names[last]
		}
		r.Blocks = append(r.Blocks, b)
	}
	for i := range r.Of {
		r.Of[i] /= per
		r.Blocks[r.Of[i]].Hosts++
	}
	return r
}
