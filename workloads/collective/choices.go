package collective

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// Choices are how the collectives of a job are done, where its trace does not say it. The zero value
// is the default of each kind.
type Choices struct {
	Algorithms []Algorithm // by kind; Auto if it is shorter
	Channels   int         // see Call
	Peers      int         // Channels of AllToAll; 0: as those of the others
	Chunk      units.Size  // see Call
	Local      int         // see Call
	Servers    Servers     // see Call
}

// Everywhere returns Choices.Algorithms with an algorithm for each kind that has it.
func Everywhere(a Algorithm) []Algorithm {
	all := make([]Algorithm, len(kinds))
	for kind := range all {
		if slices.Contains(has[kind], a) {
			all[kind] = a
		}
	}
	return all
}

// Call returns a call of a kind without its group.
func (c *Choices) Call(kind Kind, bytes units.Size, root int) Call {
	call := Call{Kind: kind, Bytes: bytes, Root: root, Channels: c.Channels, Chunk: c.Chunk, Local: c.Local, Servers: c.Servers}
	if int(kind) < len(c.Algorithms) {
		call.Algorithm = c.Algorithms[kind]
	}
	if kind == AllToAll {
		call.Channels = cmp.Or(c.Peers, c.Channels)
	}
	return call
}
