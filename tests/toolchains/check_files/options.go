package slug

// Options of Slugify.
type Options struct{ Separator string }
