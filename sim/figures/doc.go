// Package figures repeats the experiments of a primer on queues for LLM serving, and some of our own, in package
// lab: over many seeds, with the closed form beside them where there is one, and with the primer's published
// values, which rest on one seed.
//
// A study runs and yields figures. A figure is data: panels of series, and verdicts on what the primer claims. From it
// come a drawing (SVG and PNG), a table (CSV), and its part of docs/experiments.md. Verdicts are computed by rules
// that are written beside them, never by hand; see Verdict.
//
// What a run writes depends on its Options only, not on the number of goroutines that share the seeds.
package figures
