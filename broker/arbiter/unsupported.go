package arbiter

import (
	"fmt"

	"fairlead/policy"
)

// Unsupported returns an error that names the first class and field of a policy
// that this arbiter would ignore; nil when it serves all of it.
func Unsupported(p *policy.Policy) error {
	profiles := map[string]*policy.Profile{"": p.Root}
	for model, profile := range p.Models {
		profiles[model] = profile
	}
	for _, profile := range profiles {
		for i := range profile.Classes {
			c := &profile.Classes[i]
			for field, used := range map[string]bool{
				"tenants": c.Tenants, "output_weight": c.OutputWeight != 0, "displace": c.Displace,
			} {
				if used {
					return fmt.Errorf("class %q: %s is not served by this version; remove it", c.Name, field)
				}
			}
		}
	}
	return nil
}
