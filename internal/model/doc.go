// Package model is the store protocol as an explicit-state model.
package model
