package page

import (
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// html returns the page of a document.
func html(t *testing.T, d *Document) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// written writes the page of a document into a file and returns its address.
func written(t *testing.T, d *Document) string {
	t.Helper()
	return browsertest.Written(t, html(t, d))
}
