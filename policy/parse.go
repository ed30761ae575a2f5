package policy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Parse reads a policy file; file is only its name in errors. When anything is
// wrong the policy is nil and the error is an Errors with every problem found.
func Parse(file string, data []byte) (*Policy, error) {
	d := &decoder{file: file}
	p := d.policy(data)
	if len(d.errs) > 0 {
		d.errs.sort()
		return nil, d.errs
	}
	slices.SortStableFunc(d.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	p.warnings = d.warnings
	return p, nil
}

func (d *decoder) policy(data []byte) *Policy {
	body, ok := d.document(data)
	if !ok {
		return nil
	}
	d.gatherAnchors(body)
	root, ok := d.object(d.node(body, ""), &rootSchema)
	if !ok {
		return nil
	}
	p := &Policy{Root: d.rootProfile(root), Models: d.models(root)}
	if len(root.fields) == 0 && len(d.errs) == 0 {
		d.empty(root.self.at.Line, root.self.at.Column)
	}
	return p
}

// rootProfile reads the fields at the top level. Without any of the three that
// make a profile, the settings beside them apply to the synthetic default.
func (d *decoder) rootProfile(root object) *Profile {
	if root.has("default_policy_family") || root.has("uncached_isl_buckets") || root.has("policy_classes") {
		return d.profile(root)
	}
	p := defaultProfile()
	settings(root, p)
	return p
}

func (d *decoder) models(root object) map[string]*Profile {
	all, ok := d.entries(root.fields["models"], rootSchema.remedyFor("models"))
	if !ok {
		return nil
	}
	models := make(map[string]*Profile, len(all))
	for _, e := range all {
		if e.key == "" || strings.ContainsFunc(e.key, func(r rune) bool { return !unicode.IsPrint(r) }) {
			d.report(node{path: e.path, at: e.keyAt}, quote(e.key)+" is not a model name", "give the name as requests spell it, not empty, in printable characters")
		}
		if o, ok := d.object(e.node, &profileSchema); ok {
			models[e.key] = d.profile(o)
			d.warnModel(e)
		}
	}
	return models
}

func (d *decoder) profile(o object) *Profile {
	o.require(": "+profileNames+" go together", "default_policy_family", "uncached_isl_buckets", "policy_classes")
	p := newProfile()
	settings(o, p)
	p.DefaultFamily, _ = o.name("default_policy_family")
	m := &matrix{profile: o}
	p.Buckets = m.readBuckets()
	p.Classes = m.readClasses()
	m.check(p.DefaultFamily)
	if len(o.d.errs) == 0 {
		m.warn(p)
	}
	return p
}

// settings reads the fields of a profile that are not its matrix.
func settings(o object, p *Profile) {
	placement, _ := o.choice("placement", placementNames[:])
	unknown, _ := o.choice("unknown_class", unknownClassNames[:])
	p.Placement, p.UnknownClass = Placement(placement), UnknownClass(unknown)
	if n := o.whole("max_attempts", 1, maxAttempts); n != nil {
		p.MaxAttempts = int(*n)
	}
}
