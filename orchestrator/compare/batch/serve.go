package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/orchestrator/cluster/image"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// IndexVariable is the environment variable with the index of a pod of an Indexed Job.
const IndexVariable = "JOB_COMPLETION_INDEX"

// Place is where a pod's trial has what it needs. The zero value of a field is that of the
// pods of Runner.
type Place struct {
	Payload     string // file
	Credentials string // folder of a Secret
	Results     string // folder of a claim
	Work        string // folder for inputs and the run folder
	Programs    string // folder of other csiglabs, by identity
	Index       int    // of the trial
	Out, Errors io.Writer
}

// Folders of pods.
const (
	payloadFolder     = "/trials"
	credentialsFolder = "/credentials"
	resultsFolder     = "/results"
	workFolder        = "/work"
)

func (p Place) complete() Place {
	for _, f := range []struct {
		field *string
		value string
	}{
		{&p.Payload, filepath.Join(payloadFolder, payloadFile)}, {&p.Credentials, credentialsFolder}, {&p.Results, resultsFolder},
		{&p.Work, workFolder}, {&p.Programs, image.Others},
	} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	return p
}

// Serve is the whole of a pod of a trial. It performs the trial, writes its outcome to Out
// and returns the exit code, which is that of the trial's csiglab run: 0 and 1 are runs
// whose numbers count; 2 is a mistake of the user; 3 is worth another try.
func Serve(ctx context.Context, p Place) int {
	p = p.complete()
	said, err := p.serve(ctx)
	if err == nil {
		if err = said.write(p.Out); err == nil {
			return said.Outcome.Exit
		}
	}
	fmt.Fprintf(p.Errors, "csiglab: %v\n", err)
	return 3
}

// serve performs the trial. An error is one of the pod, which has no outcome.
func (p *Place) serve(ctx context.Context) (*report, error) {
	load, err := readPayload(p.Payload)
	if err != nil {
		return nil, err
	}
	if p.Index < 0 || p.Index >= len(load.Trials) {
		return nil, fmt.Errorf("index %d: the Job has %d trials", p.Index, len(load.Trials))
	}
	one := load.Trials[p.Index]
	said := &report{Key: keyText(one.Trial)}
	program, has, err := p.program(one.Trial.Identity, load.Programs[one.Program])
	if err != nil {
		return nil, err
	}
	if program == "" {
		said.Lacks, said.Has, said.Outcome = true, has, trial.Outcome{Exit: 2}
		return said, nil
	}
	input := filepath.Join(p.Work, "input")
	if err := load.materialize(input); err != nil {
		return nil, fmt.Errorf("inputs: %w", cause.Of(err))
	}
	name, t := one.Trial.Name(), one.Trial
	t.Identity = "" // it was checked
	if one.Given {
		t.Experiment = filepath.Join(input, t.Experiment)
	}
	t.Set = nil
	for _, set := range one.Trial.Set {
		t.Set = append(t.Set, load.relocate(set, input))
	}
	store := load.Store
	l := &trial.Local{Program: program, Folder: filepath.Join(p.Work, "runs"), Keep: !store.nowhere()}
	if store.Claim != "" {
		// Another pod of this trial may have been lost when it had done half of it.
		if l.Folder, err = os.MkdirTemp(p.Results, ".csiglab-"); err != nil {
			return nil, fmt.Errorf("claim %s: %w", store.Claim, cause.Of(err))
		}
		defer os.RemoveAll(l.Folder) //nolint:errcheck // the run is what counts
	}
	if said.Outcome, err = l.Run(ctx, t); err != nil {
		return nil, err
	}
	for i, reason := range said.Outcome.Reasons {
		said.Outcome.Reasons[i] = strings.ReplaceAll(reason, input, "")
	}
	folder := said.Outcome.Folder
	said.Outcome.Folder = ""
	if folder == "" {
		return said, nil
	}
	if err := p.keep(ctx, store, folder, name); err != nil {
		if said.Outcome.Exit != 2 { // no other try helps there
			said.Outcome = trial.Outcome{Exit: 3, Reasons: []string{fmt.Sprintf("the run folder cannot be kept in %s: %v", store, err)}, Seconds: said.Outcome.Seconds}
		}
		return said, nil
	}
	said.Outcome.Folder = strings.TrimSuffix(store.String(), "/") + "/" + name
	return said, nil
}

// program returns the csiglab that has an identity: this one, or one of those beside it;
// empty if the image has it not, and then what it has.
func (p *Place) program(identity, ofFile string) (file, has string, err error) {
	self, err := programs.Core()
	if err != nil {
		return "", "", err
	}
	own, err := trial.FileIdentity(self)
	if err != nil {
		return "", "", err
	}
	if own == ofFile {
		return self, "", nil
	}
	build, err := trial.Identity(self) // of the same commit, built on another machine
	if err != nil {
		return "", "", err
	}
	if build == identity {
		return self, "", nil
	}
	others, err := filepath.Glob(filepath.Join(p.Programs, "*", "csiglab"))
	if err != nil {
		return "", "", err
	}
	found := []string{own}
	for _, other := range others {
		id, err := trial.FileIdentity(other)
		if err != nil {
			return "", "", err
		}
		if id == ofFile {
			return other, "", nil
		}
		found = append(found, id)
	}
	return "", strings.Join(found, " "), nil
}

// keep puts a run folder where the results go.
func (p *Place) keep(ctx context.Context, store Results, folder, name string) error {
	if store.Claim != "" {
		target := filepath.Join(p.Results, name)
		err := os.RemoveAll(target)
		if err == nil {
			err = os.Rename(folder, target)
		}
		return cause.Of(err)
	}
	if err := store.readCredentials(p.Credentials); err != nil {
		return err
	}
	if store.credentials[keyVariable] == "" {
		return errors.New("the pod has no credentials")
	}
	return store.upload(ctx, folder, name)
}
