package org.openapitools.jackson.nullable;

import com.fasterxml.jackson.core.Version;
import com.fasterxml.jackson.databind.Module;

/** For the compiler alone, as {@link JsonNullable}. */
public class JsonNullableModule extends Module {
    @Override
    public native String getModuleName();

    @Override
    public native Version version();

    @Override
    public native void setupModule(SetupContext context);
}
