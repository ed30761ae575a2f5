// Command print shows the build information that the linker was given.
package main

import (
	"fmt"

	"fairlead/internal/buildinfo"
)

func main() { fmt.Println(buildinfo.Get()) }
