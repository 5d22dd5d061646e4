package trial

import "errors"

// PodCommand is the command of csiglab for the pods of trials that run on a cluster.
const PodCommand = "trial"

// ErrNoProgram: the image of a cluster's pods lacks the program of a trial. The message says
// which command puts it there.
var ErrNoProgram = errors.New("the image has another csiglab")
