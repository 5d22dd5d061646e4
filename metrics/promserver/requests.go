package promserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
	"github.com/csiglab/csiglab/units"
)

// formRest is the room of a request's form for what is no query.
const formRest = 64 * units.KB

// answerTime is how long a client may take to receive an answer, which the server holds
// meanwhile, and so does the query its turn.
const answerTime = 30 * time.Second

// MaxHeader returns the size that the head of a request may have, in bytes, for a
// http.Server: each byte of a query may take three in an address.
func MaxHeader(l *limits.Limits) int { return int(3*l.WithDefaults().Length + formRest) }

// within keeps requests of the API within the limits. Queries have limits of their own, which
// the engine sees to; everything else is a class of its own here.
func (s *Server) within(api http.Handler) http.Handler {
	lookups := newLane("requests for series and labels", &s.limits)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := strings.TrimSuffix(r.URL.Path, "/"); path {
		case "/read", "/write", "/otlp/v1/metrics":
			refuse(w, http.StatusNotFound, errors.New("csiglab serve has neither remote read nor remote write: ask /api/v1/query_range"))
			return
		}
		connection := http.NewResponseController(w)
		connection.SetWriteDeadline(time.Time{}) //nolint:errcheck // a recorder of a test has none
		r.Body = http.MaxBytesReader(w, r.Body, int64(s.limits.Length+formRest))
		err := r.ParseForm()
		if err == nil {
			err = r.ParseMultipartForm(int64(s.limits.Length + formRest))
		}
		if errors.Is(err, http.ErrNotMultipart) {
			err = nil // ParseForm has done it
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body) // one that is no form
		}
		var long *http.MaxBytesError
		switch {
		case errors.As(err, &long):
			refuse(w, http.StatusRequestEntityTooLarge, &LimitError{fmt.Sprintf("the form has more than %d bytes", long.Limit), s.limits.Length, limits.FlagLength, http.StatusRequestEntityTooLarge})
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, err)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/label/") {
			// All runs are to be chosen from, whatever time a dashboard shows.
			r.Form.Del("start")
			r.Form.Del("end")
		}
		connection.SetReadDeadline(time.Time{}) //nolint:errcheck // a recorder of a test has none
		w = &patientWriter{ResponseWriter: w, connection: connection}
		if r.URL.Path == "/query" || r.URL.Path == "/query_range" {
			api.ServeHTTP(w, r)
			return
		}
		leave, err := lookups.enter(r.Context())
		if err != nil {
			code, _ := statusOf(0, err)
			refuse(w, max(code, tooBusy), err)
			return
		}
		defer leave()
		ctx, stop := context.WithTimeoutCause(r.Context(), s.limits.Time, timeError(&s.limits))
		defer stop()
		api.ServeHTTP(w, r.WithContext(ctx))
	})
}

// patientWriter gives a client time to receive the answer from when it begins.
type patientWriter struct {
	http.ResponseWriter
	connection *http.ResponseController
	begun      bool
}

// Write implements io.Writer.
func (w *patientWriter) Write(text []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.connection.SetWriteDeadline(time.Now().Add(answerTime)) //nolint:errcheck // a recorder of a test has none
	}
	return w.ResponseWriter.Write(text)
}

// refuse answers with an error as the API has it.
func refuse(w http.ResponseWriter, status int, err error) {
	kind := "unavailable"
	if status < http.StatusInternalServerError {
		kind = "bad_data"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": kind, "error": err.Error()}) //nolint:errcheck // the client has gone
}
