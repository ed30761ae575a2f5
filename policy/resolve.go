package policy

// Resolution is the outcome of resolving a request's class name.
type Resolution struct {
	// Class is an index into Profile.Classes.
	Class int
	// Known is false when a name was given that is neither an explicit class
	// nor a family. Count it; refuse it when Profile.UnknownClass is UnknownReject.
	Known bool
}

// Resolve finds the physical class of a request by the class name it gave
// ("" for none) and its exact count of uncached tokens.
//
// An explicit class is found by its name whatever the tokens; a family by the
// bucket the tokens fall in. A missing name takes the default family and is
// known; any other name takes it too and is not. The name of a class in the
// matrix is no exception: a client cannot choose its own bucket.
func (p *Profile) Resolve(name string, uncached int64) Resolution {
	bucket := p.bucket(uncached)
	if name == "" {
		return Resolution{Class: p.find(p.DefaultFamily, bucket), Known: true}
	}
	if i := p.find(name, bucket); i >= 0 {
		return Resolution{Class: i, Known: true}
	}
	return Resolution{Class: p.find(p.DefaultFamily, bucket)}
}

// find returns the class that a family, or an explicit class name, leads to in
// a bucket, or -1. A scan beats a map here: profiles hold a handful of classes.
func (p *Profile) find(name, bucket string) int {
	for i := range p.Classes {
		c := &p.Classes[i]
		if c.Explicit() && c.Name == name || c.Family == name && c.Bucket == bucket {
			return i
		}
	}
	return -1
}

// bucket names the step with the highest floor at or below the count.
func (p *Profile) bucket(uncached int64) string {
	name := ""
	for _, b := range p.Buckets {
		if b.MinTokens > max(uncached, 0) {
			break
		}
		name = b.Name
	}
	return name
}
