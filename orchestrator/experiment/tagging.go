package experiment

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/csiglab/csiglab/units"
)

// initPattern is what csig.init may be; initWords says it.
var initPattern = regexp.MustCompile(`^(?:(every)|(none)|1/([1-9][0-9]{0,8})|probe/([1-9][0-9]{0,8}(?:ns|us|ms)))$`)

const initWords = "every, none, 1/N (one packet in N) or probe/INTERVAL, such as probe/20us"

// Tagging returns what Init says: hosts tag one data packet in every (0: none), or
// each sending flow sends a tagged probe after every interval probe (0: no probes). ""
// is every packet.
func (c *CSIG) Tagging() (every int, probe units.Duration, err error) {
	if c.Init == "" {
		return 1, 0, nil
	}
	m := initPattern.FindStringSubmatch(c.Init)
	switch {
	case m == nil:
		return 0, 0, fmt.Errorf("init %q is not %s", c.Init, initWords)
	case m[1] != "":
		return 1, 0, nil
	case m[2] != "":
		return 0, 0, nil
	case m[3] != "":
		every, err = strconv.Atoi(m[3])
	default:
		probe, err = units.ParseDuration(m[4])
	}
	return every, probe, err
}
