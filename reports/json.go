package reports

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/csiglab/csiglab/reports/analysis"
)

// WriteJSON writes the numbers as they are, and the sentences of Story, as one line of
// JSON.
func WriteJSON(w io.Writer, r *analysis.Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	v := struct {
		*analysis.Result
		Story []string `json:"story"`
	}{r, story(r)}
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
