package runfolder

// Cut is what a run in several parts has carried between them. Each part had a kernel of its
// own, such as a pod of a cluster.
type Cut struct {
	Parts []string `json:"parts"`
	// Frames crossed between parts. Exchanges are those of bounds in lockstep, each sent to
	// every other part, and Bytes what they took with the frames.
	Frames    int64     `json:"frames"`
	Exchanges int64     `json:"exchanges,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	Links     []CutLink `json:"links"`
}

// CutLink is a direction of a cut link.
type CutLink struct {
	Link    string `json:"link"`
	From    string `json:"from"`    // part
	To      string `json:"to"`      // part
	Entered int64  `json:"entered"` // frames that the kernel of the sender's part has counted at its end of the cut
	Left    int64  `json:"left"`    // likewise, of the receiver's part
}
