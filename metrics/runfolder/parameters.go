package runfolder

// Parameters are the values with which the nodes of a variant ran, those that auto became
// among them, by classes of ports and flows: what a paper lists. Sizes are wire bytes.
type Parameters struct {
	Ports []PortClass `json:"ports"` // from the hosts up
	Flows []FlowClass `json:"flows"` // of transfers, in the order of the first flow of each
}

// PortClass is ports with the same role and the same values.
type PortClass struct {
	Tier      string `json:"tier"`      // as Port.Tier
	Direction string `json:"direction"` // as Port.Direction
	PeerTier  string `json:"peerTier"`  // of the nodes that the ports lead to
	Ports     int    `json:"ports"`     // number of them
	RateBPS   int64  `json:"rateBps"`
	BDPBytes  int64  `json:"bdpBytes"` // rate times network RTT, in whole packets

	// Of switches; absent of hosts, whose NICs have no limit and do not mark.
	QueueBytes        int64             `json:"queueBytes,omitempty"`
	ControlQueueBytes int64             `json:"controlQueueBytes,omitempty"`
	AQM               string            `json:"aqm,omitempty"`
	AQMParameters     map[string]string `json:"aqmParameters,omitempty"` // as in an experiment
	ECNLowBytes       int64             `json:"ecnLowBytes,omitempty"`   // links.ecn, which a policy may replace by parameters
	ECNHighBytes      int64             `json:"ecnHighBytes,omitempty"`
}

// FlowClass is transfers whose senders have the same values.
type FlowClass struct {
	Flows   int    `json:"flows"` // number of them
	First   string `json:"first"` // name of one
	RateBPS int64  `json:"rateBps"`

	NetworkRTTUS float64 `json:"networkRttUs"` // of a full packet and its ACK over the longest idle path of the fabric
	BaseRTTUS    float64 `json:"baseRttUs"`    // the same over the flow's own path: the least of the class
	BaseRTTMaxUS float64 `json:"baseRttMaxUs"` // and the greatest
	RTOUS        float64 `json:"rtoUs"`

	CC           string             `json:"cc"`
	CCParameters map[string]string  `json:"ccParameters"` // as in an experiment
	Constants    map[string]float64 `json:"constants"`    // of CC, see Variant.Constants
	LB           string             `json:"lb"`
	LBParameters map[string]string  `json:"lbParameters"`

	WindowBytes    int64 `json:"windowBytes"`              // the first one
	WindowMinBytes int64 `json:"windowMinBytes,omitempty"` // its bounds; absent if the congestion control states none
	WindowMaxBytes int64 `json:"windowMaxBytes,omitempty"`

	MTUBytes      int64 `json:"mtuBytes"`    // a full packet
	HeaderBytes   int64 `json:"headerBytes"` // charged for headers; of ACKs
	MSSBytes      int64 `json:"mssBytes"`    // payload of a full packet
	AckEveryBytes int64 `json:"ackEveryBytes"`
}
