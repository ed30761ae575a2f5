// Package fairlead is the root of the module; see README.md. It holds no code.
package fairlead
