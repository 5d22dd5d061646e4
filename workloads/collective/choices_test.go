package collective

import "testing"

// An algorithm is chosen for the kinds that have it, and all-to-all has channels of its own.
func TestChoices(t *testing.T) {
	c := Choices{Algorithms: Everywhere(HalvingDoubling), Channels: 2, Chunk: 10, Local: 4}
	for kind, want := range map[Kind]Algorithm{AllReduce: HalvingDoubling, AllGather: HalvingDoubling, AllToAll: Auto, Barrier: Auto} {
		if got := c.Call(kind, 100, 3); got.Kind != kind || got.Algorithm != want || got.Channels != 2 || got.Chunk != 10 || got.Local != 4 || got.Bytes != 100 || got.Root != 3 {
			t.Errorf("%v: %+v, want algorithm %v with the rest of %+v", kind, got, want, c)
		}
	}
	c.Peers = 7
	if all, others := c.Call(AllToAll, 1, 0), c.Call(AllReduce, 1, 0); all.Channels != 7 || others.Channels != 2 {
		t.Errorf("%d channels of an all-to-all and %d of others, want 7 and 2", all.Channels, others.Channels)
	}
	if got := (&Choices{}).Call(Reduce, 1, 0); got.Algorithm != Auto {
		t.Errorf("without choices: %v", got.Algorithm)
	}
}
