// Package drr is the scheduler core: which queued request is dispatched next. It divides service
// between classes by exact Deficit Round Robin, in uncached tokens, and orders requests within a
// class. It is pure: no clock, no I/O, no goroutine.
package drr
