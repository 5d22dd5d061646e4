package runfolder

// Cut is what a run in several parts has carried between them. Each part had a kernel of its
// own, such as a pod of a cluster.
type Cut struct {
	Parts     []string  `json:"parts" doc:"names of the parts"`
	Frames    int64     `json:"frames" doc:"that crossed between parts"`
	Exchanges int64     `json:"exchanges,omitempty" doc:"of bounds under clock lockstep, each sent to every other part"`
	Bytes     int64     `json:"bytes,omitempty" doc:"that exchanges took, with their frames"`
	Links     []CutLink `json:"links" doc:"directions of cut links: 'link', the parts 'from' and 'to', and frames that the kernels have counted at the ends of the cut: 'entered', 'left'"`
}

// CutLink is a direction of a cut link.
type CutLink struct {
	Link    string `json:"link"`
	From    string `json:"from"`    // part
	To      string `json:"to"`      // part
	Entered int64  `json:"entered"` // frames that the kernel of the sender's part has counted at its end of the cut
	Left    int64  `json:"left"`    // likewise, of the receiver's part
}
