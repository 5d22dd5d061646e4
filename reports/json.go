package reports

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/csiglab/csiglab/reports/analysis"
)

// WriteJSON writes the numbers as they are, as one line of JSON.
func WriteJSON(w io.Writer, r *analysis.Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
