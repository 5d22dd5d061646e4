package process

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Shell is the name, in folder bin of an image, of a link to the one program that it has: what
// "docker exec NODE sh" finds.
const Shell = "sh"

// notFound is the exit code of a shell for a program that is not there.
const notFound = 127

// asShell says what to type instead of a shell, if the process was started as one.
func asShell(w io.Writer) (code int, started bool) {
	if filepath.Base(os.Args[0]) != Shell {
		return 0, false
	}
	fmt.Fprintf(w, "Node %[1]s runs csiglab's own dataplane; its image has no shell and no other program. On the machine of the lab:\n"+
		"  csiglab ps                             names of labs\n"+
		"  csiglab exec LAB %[1]s -- ip address   a program of that machine in the network of this node\n"+
		"  csiglab inspect LAB                    nodes, links and addresses\n"+
		"  csiglab top LAB                        queues and flows as they are\n", os.Getenv(EnvironmentNode))
	return notFound, true
}
