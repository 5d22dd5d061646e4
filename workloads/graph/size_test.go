package graph

import (
	"testing"
	"unsafe"
)

// A live operation takes about 100 bytes: itself and its place in the window.
func TestLiveSize(t *testing.T) {
	if got := unsafe.Sizeof(live{}) + unsafe.Sizeof(int32(0)); got > 100 {
		t.Errorf("%d bytes", got)
	}
}
