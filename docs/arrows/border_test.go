package arrows

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// siblingsOnly begin the import paths of what csiglab leaves to the programs beside it
// (docs/architecture.md), as few commands need it and every command would pay for it.
var siblingsOnly = []string{
	"github.com/srl-labs/containerlab", "github.com/docker/docker", // csiglab-lab
	"github.com/prometheus/prometheus",                                                        // csiglab-serve
	"k8s.io/client-go", "github.com/minio/minio-go", "github.com/google/go-containerregistry", // csiglab-cluster
}

// mostPackages is how many packages csiglab may be linked with. There were 1949 before it had
// siblings.
const mostPackages = 850

// beyondBorder returns those of the packages that csiglab must not be linked with.
func beyondBorder(packages []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(name string) bool {
		return !slices.ContainsFunc(siblingsOnly, func(prefix string) bool { return strings.HasPrefix(name+"/", prefix+"/") })
	})
}

// TestBorder holds csiglab, and the programs of nodes, within the border.
func TestBorder(t *testing.T) {
	for _, program := range []string{"csiglab", "csig-host", "csig-switch"} {
		out, err := exec.Command("go", "list", "-deps", modulePath+"/cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		packages := strings.Fields(string(out))
		if len(packages) > mostPackages {
			t.Errorf("%s is linked with %d packages, want %d at most", program, len(packages), mostPackages)
		}
		if found := beyondBorder(packages); len(found) > 0 {
			t.Errorf("%s is linked with %q, which siblings have", program, found)
		}
	}
	packages := []string{"k8s.io/client-go", "k8s.io/client-go/rest", "k8s.io/client", "github.com/docker/docker/client", "github.com/docker/go-units"}
	if found := beyondBorder(packages); !slices.Equal(found, []string{"k8s.io/client-go", "k8s.io/client-go/rest", "github.com/docker/docker/client"}) {
		t.Errorf("of %q, beyond the border: %q", packages, found)
	}
}
