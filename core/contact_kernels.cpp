// Contact steps of one instruction-set level.
#include "contact_step.hpp"

UKEMI_BEGIN

ContactEngine* make_contact_engine(const Tree& tree, const ContactScene& scene) { return new Stepper(tree, scene); }

UKEMI_END
