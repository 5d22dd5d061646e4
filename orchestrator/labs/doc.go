// Package labs has no code of its own. In its folders one changes what outlives a command: the
// list of runs and what finds and removes them (runs), containers (containerlab), the kernel's
// limit of a link (shape), programs on hosts (application, reaper), and how the metrics of a lab
// are read while it runs (live).
package labs
