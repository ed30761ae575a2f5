// Package whatif answers what a policy would do: it reads traffic from traces and
// recordings, a fleet from a description, plays both through [fairlead/sim] under
// one or two policies and as many seeds as wanted, and puts the figures side by side.
//
//	traffic   traces and recordings → requests: classes, tenants, deadlines, scale
//	fleet     flags or a YAML file → workers
//	study     policies × seeds, in parallel; the result does not depend on that
//	metric    what is reported of a class, by name
//	report    text and JSON
//
// # Seeds
//
// The first seed plays the traffic as it was recorded. Each further one plays it
// resampled: blocks of it, a minute long by default, are drawn with replacement, which
// keeps bursts and the mix of classes within a block and shows how much of a figure is
// the luck of this recording. What else is random is drawn anew too. Reported are the
// median and the interval that holds the central nine tenths of the seeds (all of
// them below 20).
package whatif
